"""list-checks, explain and schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from doctor.judge import load

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import healthy
from ..rows import for_each
from .command import gpudoctor, save

ROOT = Path(__file__).parents[2]
CHECKS = sorted(file.stem.replace("_", "-") for file in (ROOT / "doctor/checks").glob("[!_]*.py"))
CAUSES = sorted(file.stem for file in (ROOT / "doctor/text/causes").glob("*.txt"))


def test_every_file_of_the_catalogue_is_listed_once() -> None:
    rows = json.loads(gpudoctor("list-checks", "--format", "json").stdout)
    assert sorted(row["id"] for row in rows) == sorted([*CHECKS, *CAUSES])
    assert [row["id"] for row in rows if row["judges"] == "facts"] == CHECKS
    text = gpudoctor("list-checks").stdout.decode()
    for row in rows:
        assert f"{row['id']} " in text and row["title"] in text


def test_explain_prints_the_manual_page() -> None:
    for name in ("no-nvidia-gpu", "no_nvidia_gpu", "NO-NVIDIA-GPU"):
        done = gpudoctor("explain", name)
        assert done.returncode == 0
        assert load("no-nvidia-gpu").manual in done.stdout.decode()
        assert b"Severity: critical" in done.stdout


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    found = json.loads(gpudoctor("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.slow
def test_reports_fit_the_schema(schema: jsonschema.Draft202012Validator, tmp_path: Path) -> None:
    for snapshot in (healthy(), healthy("h100", "l4"), without_gpu(healthy()), healthy(torch=False, container=True)):
        for flags in ([], ["--no-redact"], ["--expect", "none"]):
            done = gpudoctor("check", "--from", save(tmp_path, snapshot), "--format", "json", *flags)
            schema.validate(json.loads(done.stdout))


def test_this_machine_fits_the_schema(schema: jsonschema.Draft202012Validator) -> None:
    schema.validate(json.loads(gpudoctor("check", "--no-import", "--format", "json").stdout))


@for_each("path", ["findings.0.fixes.0.steps.0.where", "verdict", "checks.0.status", "snapshot.gpus", "tool.name"])
def test_the_schema_refuses_what_is_no_report(
    schema: jsonschema.Draft202012Validator, tmp_path: Path, path: str
) -> None:
    report = json.loads(gpudoctor("check", "--from", save(tmp_path, without_gpu(healthy())), "--format", "json").stdout)
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    node = report
    for part in way:
        node = node[part]
    node[last] = {"of another": "shape"}
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(report)


def test_the_keys_of_a_report_are_always_there(tmp_path: Path) -> None:
    done = gpudoctor("check", "--from", save(tmp_path, without_gpu(healthy())), "--format", "json")
    report = json.loads(done.stdout)
    assert {
        "schema_version",
        "tool",
        "matrix",
        "generated_at",
        "target",
        "verdict",
        "exit_code",
        "findings",
        "checks",
        "snapshot",
    } <= set(report)
    assert {"id", "status", "severity", "title", "detail", "facts", "downstream_of", "fixes"} <= set(
        report["findings"][0]
    )
    assert all({"id", "status", "reason", "duration_ms"} <= set(check) for check in report["checks"])
    assert [check["id"] for check in report["checks"]] == CHECKS
