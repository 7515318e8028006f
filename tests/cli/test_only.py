"""`--only`, `skip` and `--fail-on` in every command that judges: what was not examined is never sound."""

from __future__ import annotations

import json
from pathlib import Path

import gpudoctor as face
from doctor.snapshot import NOT_ASKED
from doctor.snapshot.measured import Measured

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import healthy
from ..rows import for_each
from .command import gpudoctor, save

NO_GPU = without_gpu(healthy())
WHY = "gpu-too-hot was not checked: this machine has no NVIDIA GPU"
NOTHING = "nothing to check: only one GPU"


@for_each("form", ["text", "json", "markdown", "html", "sarif", "junit", "github"], quick=3)
def test_every_format_says_what_was_not_checked(form: str, tmp_path: Path) -> None:
    done = gpudoctor("check", "--from", save(tmp_path, NO_GPU), "--only", "gpu-too-hot", "--format", form)
    assert done.returncode == 3 and WHY in done.stdout.decode(), done


@for_each("form", ["text", "json", "markdown", "html"], quick=4)
def test_every_format_says_that_there_was_nothing_to_check(form: str, tmp_path: Path) -> None:
    done = gpudoctor("check", "--from", save(tmp_path, healthy()), "--only", "nvlink-inactive", "--format", form)
    words = '"skip": "does-not-apply"' if form == "json" else NOTHING
    assert done.returncode == 0 and words.lower() in done.stdout.decode().lower(), done


def test_each_expectation(tmp_path: Path) -> None:
    path = save(tmp_path, NO_GPU)
    for expect, code in (("gpu", 3), ("any", 0), ("none", 0)):
        assert gpudoctor("check", "--from", path, "--only", "gpu-too-hot", "--expect", expect).returncode == code


def test_a_health_check_by_its_configuration(tmp_path: Path) -> None:
    config = tmp_path / "gpudoctor.toml"
    config.write_text('only = ["gpu-too-hot"]\n')
    run = ("healthcheck", "--from", save(tmp_path, NO_GPU), "--config", config)
    done = gpudoctor(*run)
    assert (done.returncode, done.stdout.decode()) == (0, f"UNKNOWN {WHY}\n"), done
    assert gpudoctor(*run, "--strict").returncode == 1
    config.write_text('only = ["nvlink-inactive"]\n')
    done = gpudoctor("healthcheck", "--from", save(tmp_path, healthy()), "--config", config)
    assert (done.returncode, done.stdout.decode()) == (0, f"OK {NOTHING}\n"), done
    config.write_text('skip = ["shm-too-small"]\nfail-on = "unknown"\n')
    blind = healthy().replace({"host.memory_limit_mib": NOT_ASKED})
    assert gpudoctor("healthcheck", "--from", save(tmp_path, blind), "--config", config).stdout.startswith(b"UNKNOWN ")


def test_a_proof_what_if_and_explain(tmp_path: Path) -> None:
    proof = save(tmp_path, NO_GPU.with_(measured=Measured(level="quick")))
    assert gpudoctor("prove", "--from", proof, "--only", "matmul-below-range").returncode == 3
    assert gpudoctor("prove", "--from", proof, "--only", "matmul-below-range", "--expect", "any").returncode == 0
    changed = ("what-if", "--from", save(tmp_path, NO_GPU), "--torch", "none", "--only", "gpu-too-hot")
    assert gpudoctor(*changed).returncode == 3
    text = b"torch 2.8.0+cu128 on an H100, driver 580.82.07"
    for check in ("gpu-too-hot", "imex-not-working"):
        done = gpudoctor("explain", "-", "--only", check, data=text)
        assert done.returncode == 3 and f"{check} was not checked" in done.stdout.decode(), done


def test_python(tmp_path: Path) -> None:
    made = face.check(source=save(tmp_path, NO_GPU), only=["gpu-too-hot"])
    assert (made.verdict, made.exit_code, made.ok) == ("unknown", 3, False)
    assert made.findings[0].title == WHY
    assert {check.skip for check in made.checks} == {"not-examined"}
    sound = face.check(source=save(tmp_path, healthy()), only=["nvlink-inactive"])
    assert sound.ok and NOTHING in str(sound)


@for_each(("fail_on", "code"), [("fail", 0), ("unknown", 1), ("warn", 1)])
def test_fail_on_counts_the_checks_that_are_printed_as_unknown(fail_on: str, code: int, tmp_path: Path) -> None:
    path = save(tmp_path, healthy().replace({"host.memory_limit_mib": NOT_ASKED}))
    done = gpudoctor("check", "--from", path, "--fail-on", fail_on, "--format", "json")
    report = json.loads(done.stdout)
    assert any(check["status"] == "unknown" for check in report["checks"]) and not report["findings"]
    assert done.returncode == report["exit_code"] == code
