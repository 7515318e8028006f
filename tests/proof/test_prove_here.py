"""`gpudoctor prove` on this machine without a GPU, with the real CPU build of torch."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.probes.commands import torch_command
from tests.agents.run import run_agent

from ..parts import NEEDS
from ..rows import for_each
from .proving import environment, report, run

pytestmark = pytest.mark.skipif(not NEEDS["gpu"](), reason="this machine has an NVIDIA driver: see tests/gpu")


def obeys(found: dict[str, Any]) -> dict[str, Any]:
    """The measurements of a report that obeys the schema."""
    jsonschema.validate(found, json.loads(run(["schema"]).stdout))
    measured: dict[str, Any] = found["snapshot"]["measured"]
    return measured


def ids(found: dict[str, Any], part: str) -> list[str]:
    return [finding["id"] for finding in found[part]]


@pytest.mark.torch_wheel
def test_the_cpu_is_measured_where_that_is_asked(with_torch: Path, tmp_path: Path) -> None:
    """The run, the report from its file, and the picture: what was measured is in all of them."""
    picture = tmp_path / "figures.svg"
    found = report(
        ["prove", "--quick", "--device", "cpu", "--python", str(with_torch), "--plot", str(picture)], cwd=tmp_path
    )
    measured = obeys(found)
    assert (found["exit_code"], found["verdict"]) == (0, "pass")
    assert "gpu-path-unused" in ids(found, "remarks") and not found["findings"]
    assert found["policy"]["expect"]["kind"] == "any"
    (proof,) = measured["torch"]
    assert (proof["device"], proof["right"]) == ("cpu", True) and 0 < proof["matmul_error"] < 1e-3
    told = {end["step"].split()[0] for end in measured.get("ended", ())}  # on a machine that is busy with other work
    assert {"matmul", "memory"} <= {rate["kind"] for rate in measured["rates"]} | told
    assert "driver" not in measured and measured["torch_devices"] == []
    assert "<svg" in picture.read_text()[:500]
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps(found))
    done = run(["prove", "--from", str(saved), "--format", "html"])
    assert done.returncode == 0 and "<svg" in done.stdout
    again = report(["check", "--from", str(saved)])
    assert obeys(again) == measured and ids(again, "remarks") == ids(found, "remarks")


@pytest.mark.torch_wheel
def test_without_a_gpu_the_path_is_unused(with_torch: Path, tmp_path: Path) -> None:
    found = report(["prove", "--quick", "--python", str(with_torch)], cwd=tmp_path)
    measured = obeys(found)
    assert found["exit_code"] == 1 and "gpu-path-unused" in ids(found, "findings")
    assert measured["torch"] == measured["torch_devices"] == [] and measured["driver"]["missing"] == "absent"
    (left_out,) = [step for step in measured["ended"] if step["agent"] == "torch_speed"]
    assert (left_out["fault"], left_out["detail"]) == ("skipped", "torch sees no GPU here")


def test_without_torch_there_is_nothing_to_draw(tmp_path: Path) -> None:
    words = ["prove", "--device", "cpu", "--python", str(environment(tmp_path, None))]
    done = run([*words, "--format", "svg"])
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("gpudoctor: nothing to draw") and done.stderr.count("\n") == 1
    done = run([*words, "--plot", str(tmp_path / "x.svg")])
    assert done.returncode in (0, 1) and "torch" in done.stdout and "nothing to draw" in done.stderr
    assert not (tmp_path / "x.svg").exists()


@for_each(
    ("words", "told"),
    [
        (["prove", "--device", "tpu"], "--device 'tpu'"),
        (["prove", "--quick", "--full"], "--quick cannot be used with --full"),
        (["prove", "--plot", "figures.png"], "must end in .svg or .html"),
        (["prove", "--plot", "/nowhere/x.svg"], "cannot be written"),
        (["prove", "-o", "/nowhere/x.txt"], "cannot be written"),
        (["prove", "--from", "x.json", "--full"], "--full cannot be used with --from"),
        (["prove", "--replay", "x", "--device", "cpu"], "--device cannot be used with --replay"),
        (["prove", "--from", "x.json", "--replay", "x"], "--from cannot be used with --replay"),
        (["prove", "--python", "/nowhere/python"], "no Python environment found"),
        (["check", "--prove", "--no-import"], "--prove cannot be used with --no-import"),
        (["check", "--prove", "--root", "/"], "--prove cannot be used with --root"),
        (["record", "x", "--prove", "--no-import"], "--prove cannot be used with --no-import"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_before_anything_is_measured(tmp_path: Path, words: list[str], told: str) -> None:
    done = run(words, {**os.environ, "GPUDOCTOR_TRACEBACK": ""}, tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert told in done.stderr and done.stderr.count("\n") == 1


@for_each("agent", ["torch_proof", "torch_speed", "training_speed", "collective_proof"])
def test_no_agent_takes_the_torch_of_the_working_directory(tmp_path: Path, agent: str) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('of the working directory')")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "torch.py").write_text("raise ImportError('of PYTHONPATH')")
    command = torch_command({"executable": sys.executable}, agent)
    assert command is not None
    env = {**os.environ, "PYTHONPATH": f".{os.pathsep}src{os.pathsep}"}
    result = run_agent([*command, "--device", "cpu"], 60, env, cwd=str(tmp_path))
    assert "of the working directory" not in json.dumps(result.lines)
    assert "of PYTHONPATH" in json.dumps(result.lines)


def test_a_report_without_measurements_is_refused(tmp_path: Path) -> None:
    saved = tmp_path / "report.json"
    saved.write_text(run(["check", "--no-import", "--format", "json"]).stdout)
    done = run(["prove", "--from", str(saved)])
    assert done.returncode == 2 and "contains no measurements" in done.stderr
    assert run(["healthcheck", "--prove", "--from", str(saved)]).returncode == 1
