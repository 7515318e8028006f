"""A machine without a GPU, with and without the small torch CPU wheel in the active environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ..parts import NEEDS, TORCH

pytestmark = pytest.mark.skipif(not NEEDS["gpu"](), reason="this machine has an NVIDIA driver: see tests/gpu")


def _gpudoctor(*words: str, active: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """gpudoctor with this virtual environment active."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CONDA", "NVIDIA_", "CUDA"))}
    env |= {"VIRTUAL_ENV": str(active), "PATH": f"{active}/bin:{os.environ['PATH']}"}
    return subprocess.run(
        [sys.executable, "-m", "doctor", *words],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = _gpudoctor("schema", active=Path(sys.prefix), cwd=tmp_path_factory.mktemp("schema"))
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment without torch."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    return folder


def _judge(schema: dict[str, Any], active: Path, cwd: Path, *words: str) -> dict[str, Any]:
    """The JSON report, which obeys the schema and says the exit code."""
    done = _gpudoctor("check", "--format", "json", *words, active=active, cwd=cwd)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    jsonschema.validate(report, schema)
    assert report["exit_code"] == done.returncode
    assert isinstance(report, dict)
    return report


def test_without_torch(bare: Path, schema: dict[str, Any], tmp_path: Path) -> None:
    report = _judge(schema, bare, tmp_path)
    assert [finding["id"] for finding in report["findings"]] == ["no-nvidia-gpu", "torch-not-installed"]
    assert report["exit_code"] == 1


@pytest.mark.slow
def test_a_machine_that_needs_no_gpu_passes(bare: Path, schema: dict[str, Any], tmp_path: Path) -> None:
    report = _judge(schema, bare, tmp_path, "--expect", "none")
    assert report["exit_code"] == 0 and report["verdict"] != "fail"


@pytest.mark.torch_wheel
@pytest.mark.parametrize("words", [(), ("--no-import",)], ids=["imported", "files only"])
def test_with_the_cpu_wheel(with_torch: Path, schema: dict[str, Any], tmp_path: Path, words: tuple[str, ...]) -> None:
    report = _judge(schema, with_torch, tmp_path, *words)
    assert [finding["id"] for finding in report["findings"]][:2] == ["no-nvidia-gpu", "cpu-only-torch"]
    assert report["exit_code"] == 1
    torch, run = report["snapshot"]["torch"], report["snapshot"].get("torch_run", {})
    assert torch["version"].startswith(TORCH) and torch["build"] == "cpu"
    if words:
        assert not run  # nobody asked, and a fact that nobody asked for is left out
    else:
        assert run["imported"] is True and run["cuda_available"] is False and run["version"] == torch["version"]


@pytest.mark.torch_wheel
def test_recorded_and_replayed_it_is_judged_the_same(with_torch: Path, schema: dict[str, Any], tmp_path: Path) -> None:
    live = _judge(schema, with_torch, tmp_path)
    folder = tmp_path / "recording"
    saved = _gpudoctor("record", str(folder), active=with_torch, cwd=tmp_path)
    assert saved.returncode == 0, saved.stderr
    done = _gpudoctor("check", "--format", "json", "--replay", str(folder), active=with_torch, cwd=tmp_path)
    replayed = json.loads(done.stdout)
    jsonschema.validate(replayed, schema)
    assert [f["id"] for f in replayed["findings"]] == [f["id"] for f in live["findings"]]
    assert replayed["exit_code"] == live["exit_code"]


@pytest.mark.torch_wheel
def test_the_sample_in_the_readme_is_what_is_printed(with_torch: Path, tmp_path: Path) -> None:
    """The finding, its fix and what follows from it; the lines around them tell of the machine."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    sample = readme.partition("<!-- sample -->\n```text\n")[2].partition("```")[0]
    printed = _gpudoctor("check", "--no-color", active=with_torch, cwd=tmp_path).stdout
    assert _finding(sample) and _finding(sample) == _finding(printed)


def _finding(text: str) -> list[str]:
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if " FAIL  " in line)
    return lines[first : next(number for number, line in enumerate(lines) if "Details: gpudoctor explain" in line)]
