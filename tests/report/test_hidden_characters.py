"""C0 and C1 controls, ESC and characters that turn writing around reach no output, whatever string they came in.

One writer sends everything out (`doctor/commands/write.py`): here every source of strings meets every format.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gpudoctor import explain

from ..cli.command import gpudoctor, save
from ..healthy import healthy
from ..rows import Faults, quickly
from ..topo.test_topo_command import hung

HIDDEN = "\x7f\x85\x9b\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\ufeff"
PAYLOAD = f"x\x1b[31mred\x1b]0;title\x07\x1b[2J\r\x08{HIDDEN}\U000e0041y"
ALLOWED = "\t\n"
KEPT = ("kind", "missing", "status", "severity", "layer", "build", "kernel_flavour", "found_by", "import_fault", "id",
        "key", "a", "b", "generated_at", "gathered_at", "schema_version", "verdict", "version")  # fmt: skip
"""Fields that a report is refused for, or that say which of several things it is."""
REPORT = (
    ["check", "--format", "text"], ["check", "-vv"], ["check", "--no-redact", "-vv"], ["check", "--format", "json"],
    ["check", "--format", "markdown"], ["check", "--brief"], ["check", "--format", "html"], ["check", "--format", "sarif"],
    ["check", "--format", "junit"], ["check", "--format", "github"], ["check", "--ascii"], ["healthcheck"],
    ["healthcheck", "--format", "prometheus"], ["healthcheck", "--format", "node-problem-detector"], ["fix"],
    ["fix", "--format", "json"], ["topo"], ["topo", "--format", "json"], ["topo", "--format", "markdown"],
    ["topo", "--format", "html"], ["topo", "--format", "svg"],
    *(["compare", "--format", name] for name in ("text", "json", "markdown", "html")),
)  # fmt: skip
NAMED = (
    ["check", "--from"], ["check", "--replay"], ["check", "--config"], ["check", "--matrix"], ["fix", "--from"],
    ["topo", "--from"], ["healthcheck", "--from"], ["image"], ["dockerfile"], ["fit"], ["resolve", "-r"], ["explain"],
    ["check", "--python"], ["check", "--root"], ["trust"], ["watch"], ["compare"],
)  # fmt: skip
RECIPES = (
    ["--format", "text"], ["--format", "json"], ["--format", "sarif"], ["--format", "junit"], ["--format", "github"],
)  # fmt: skip


def everywhere(value: Any, key: str = "") -> Any:
    """A report with the payload behind each of its texts."""
    if isinstance(value, dict):
        return {name: everywhere(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [everywhere(item, key) for item in value]
    return value + PAYLOAD if isinstance(value, str) and key not in KEPT else value


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a machine with four GPUs and two NICs, hostile in every text."""
    path = save(tmp_path_factory.mktemp("hostile"), hung())
    report = json.loads(path.read_text("utf-8"))
    report["snapshot"] = everywhere(report["snapshot"])
    path.write_text(json.dumps(report), "utf-8")
    return path


def hidden_in(data: bytes) -> set[str]:
    """What of it may not reach a reader."""
    return {c for c in data.decode("utf-8") if not c.isprintable() and c not in ALLOWED and c != "\u00a0"}


def assert_parsed(words: list[str], out: bytes) -> None:
    """Whether an output is still what its format says."""
    if {"json", "sarif"} & set(words):
        json.loads(out)
    elif {"junit", "svg"} & set(words):
        ET.fromstring(out)
    elif "prometheus" in words:
        assert list(text_string_to_metric_families(out.decode()))


@pytest.mark.parametrize("part", quickly(range(7), 7))
def test_no_text_of_a_report_reaches_an_output(part: int, hostile: Path, tmp_path: Path) -> None:
    sound = save(tmp_path, healthy())
    with Faults() as faults:
        for words in REPORT[part::7]:
            with faults.of(" ".join(words)):
                given = [sound, hostile] if words[0] == "compare" else ["--from", hostile]
                done = gpudoctor(*words, *given, env={"GITHUB_ACTIONS": "true"})
                assert done.returncode in (0, 1, 3), done.stderr
                assert not hidden_in(done.stdout) and not hidden_in(done.stderr)
                assert done.stdout
                assert_parsed(words, done.stdout)


@pytest.mark.parametrize("part", quickly(range(8), 8))
def test_no_name_of_a_file_reaches_an_output(part: int, tmp_path: Path) -> None:
    name = PAYLOAD.replace("/", "")
    (tmp_path / name).write_text("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN pip install torch==1.0\n", "utf-8")
    with Faults() as faults:
        for words in NAMED[part::8]:
            for path in (name, f"missing-{name}"):
                with faults.of(" ".join(words)):
                    done = gpudoctor(*words, path, cwd=tmp_path)
                    assert not hidden_in(done.stdout) and not hidden_in(done.stderr), done


@pytest.mark.parametrize("part", quickly(range(5), 5))
def test_no_line_or_name_of_a_recipe_reaches_an_output(part: int, tmp_path: Path) -> None:
    name = f"Dockerfile.{PAYLOAD}"
    text = f"FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN pip install 'torch==1.0{PAYLOAD}'\nENV A={PAYLOAD}\n"
    (tmp_path / name).write_text(text.replace("\r", ""), "utf-8")
    options = RECIPES[part]
    done = gpudoctor("dockerfile", name, *options, cwd=tmp_path)
    assert not hidden_in(done.stdout) and not hidden_in(done.stderr), done
    if done.returncode != 2:
        assert_parsed(options, done.stdout)


@pytest.mark.slow
def test_no_hidden_character_of_a_text_reaches_an_output() -> None:
    text = f"{HIDDEN.join('ab')} RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    for options in (["--format", "json"], ["-vv"], ["--format", "markdown"]):
        said = gpudoctor("explain", "-", *options, data=text.encode()).stdout.decode()
        assert "no kernel image" in said
        assert not set(HIDDEN) & set(said), options
    report = json.loads(gpudoctor("explain", "-", "--format", "json", data=text.encode()).stdout)
    assert "\u202e" in json.dumps(report, ensure_ascii=False), "escaped, not dropped"


def test_no_hidden_character_of_a_text_reaches_a_caller_of_python() -> None:
    report = explain(f"{HIDDEN.join('ab')} RuntimeError: CUDA error: no kernel image is available for execution\n")
    outputs = (
        report.to_text(),
        report.to_json(),
        report.to_markdown(),
        report.to_html(),
        report._repr_html_(),
        repr(report),
    )
    assert all("no kernel image" in said and not hidden_in(said.encode()) for said in outputs[:5])
    assert not hidden_in(outputs[5].encode())
