"""On a sound machine with a GPU there is no false finding, and every witness tells the same story.

`pytest -m gpu`; GPUDOCTOR_RECORD=DIR keeps a redacted recording of the machine, which becomes a fixture.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

pytestmark = pytest.mark.gpu


def _gpudoctor(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "doctor", *words], capture_output=True, text=True, timeout=150, check=False
    )


@pytest.fixture(scope="session")
def report() -> dict[str, Any]:
    done = _gpudoctor("check", "--format", "json", "--no-redact")
    assert done.stdout, done.stderr
    loaded = json.loads(done.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_no_false_finding(report: dict[str, Any]) -> None:
    """A machine that is lent for tests is sound; whether torch is there is its own affair."""
    found = [(f["id"], f["title"]) for f in report["findings"] if f["status"] in ("fail", "unknown")]
    assert found == [], json.dumps(report["findings"], indent=1)[:8000]
    assert report["exit_code"] == 0


def test_the_report_obeys_the_schema(report: dict[str, Any]) -> None:
    jsonschema.validate(report, json.loads(_gpudoctor("schema").stdout))


def test_witnesses_agree(report: dict[str, Any]) -> None:
    """NVML, libcuda, the kernel module and the files on disk speak of one driver and the same GPUs."""
    driver, gpus = report["snapshot"]["driver"], report["snapshot"]["gpus"]
    assert driver["nvml_init"] == 0 and driver["cu_init"] == 0
    assert driver["kernel_version"] == driver["nvml_driver_version"] == driver["nvml_library_version"]
    assert driver["nvml_gpu_count"] == len(gpus) >= 1
    by_cuda = {device["compute_capability"] for device in driver["cuda_devices"]}
    assert by_cuda <= {gpu["compute_capability"] for gpu in gpus}


def test_nvidia_smi_agrees(report: dict[str, Any]) -> None:
    """The tool that everybody trusts, asked for single fields, names the same GPUs."""
    ask = ["nvidia-smi", "--query-gpu=name,uuid,memory.total,driver_version", "--format=csv,noheader,nounits"]
    rows = [line.split(", ") for line in subprocess.check_output(ask, text=True, timeout=60).strip().splitlines()]
    ours = [[g["name"], g["uuid"], str(g["memory_total_mib"])] for g in report["snapshot"]["gpus"]]
    assert ours == [row[:3] for row in rows]
    assert {row[3] for row in rows} == {report["snapshot"]["driver"]["kernel_version"]}


def test_record_and_replay_say_the_same(report: dict[str, Any], tmp_path: Path) -> None:
    folder = Path(os.environ.get("GPUDOCTOR_RECORD") or tmp_path / "recording")
    saved = _gpudoctor("record", str(folder))
    assert saved.returncode == 0, saved.stderr
    replayed = json.loads(_gpudoctor("check", "--format", "json", "--replay", str(folder)).stdout)
    assert [f["id"] for f in replayed["findings"]] == [f["id"] for f in report["findings"]]
    for gpu in report["snapshot"]["gpus"]:
        hidden = gpu["uuid"]
        assert not any(hidden in path.read_text() for path in folder.iterdir() if path.is_file())


def test_healthcheck_is_one_line() -> None:
    done = _gpudoctor("healthcheck")
    assert done.returncode == 0 and done.stdout.startswith("OK")
    assert done.stdout.count("\n") == 1 and len(done.stdout.rstrip("\n")) <= 80
