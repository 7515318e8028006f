"""`gpudoctor prove` on a sound GPU: every level is right, and nothing is found that is not there.

`pytest -m gpu`. Without torch in the active environment only the proof through libcuda is tested. GPUDOCTOR_RECORD=DIR
keeps the redacted report of the full run as DIR/prove.json, which becomes a fixture.
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
    command = [sys.executable, "-m", "doctor", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


def _report(*words: str) -> dict[str, Any]:
    done = _gpudoctor(*words, "--format", "json")
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="session")
def full() -> dict[str, Any]:
    """The report of the full run, redacted."""
    report = _report("prove", "--full")
    folder = os.environ.get("GPUDOCTOR_RECORD")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "prove.json").write_text(json.dumps(report, indent=1))
    return report


@pytest.fixture(scope="session")
def measured(full: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = full["snapshot"]["measured"]
    return found


@pytest.fixture(scope="session")
def torch(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """Torch's proofs; without torch with CUDA in the environment its tests are skipped."""
    if not measured.get("torch_devices") or isinstance(measured["torch_devices"], dict):
        pytest.skip("no torch with CUDA in the active environment")
    proofs: list[dict[str, Any]] = measured["torch"]
    return proofs


def test_the_report_obeys_the_schema_and_accuses_nobody(full: dict[str, Any]) -> None:
    jsonschema.validate(full, json.loads(_gpudoctor("schema").stdout))
    without_torch = {"torch-not-installed", "cpu-only-torch", "gpu-path-unused"}
    wrong = [(f["id"], f["title"]) for f in full["findings"] if f["status"] == "fail" and f["id"] not in without_torch]
    assert wrong == [], json.dumps(full["findings"], indent=1)[:8000]


def test_libcuda_computes_on_every_gpu(full: dict[str, Any], measured: dict[str, Any]) -> None:
    keys = {gpu["key"] for gpu in full["snapshot"]["gpus"]}
    assert len(measured["driver"]) == len(full["snapshot"]["driver"]["cuda_devices"])
    for proof in measured["driver"]:
        assert proof["right"] is True and proof["key"] in keys
        assert proof["context_ms"] > 0 and proof["module_ms"] > 0 and proof["kernel_ms"] > 0
        assert proof["context_mib"] > 10


def test_torch_computes_on_every_gpu(measured: dict[str, Any], torch: list[dict[str, Any]]) -> None:
    assert [proof["device"] for proof in torch] == measured["torch_devices"]
    for proof, driver in zip(torch, measured["driver"], strict=True):
        assert proof["right"] is True and proof["key"] == driver["key"] and proof["tensor_device"] == proof["device"]
        assert proof["work_ms"] < proof["cpu_ms"], "the GPU multiplies faster than the CPU"
        assert proof["utilization_percent"] > 0
        assert proof["process_seen"] is True or isinstance(proof["process_seen"], dict)


def test_nothing_was_left_out_or_broke(measured: dict[str, Any], torch: list[dict[str, Any]]) -> None:
    assert [step for step in measured.get("ended", []) if step.get("fault", "failed") != "skipped"] == []


def test_speed_and_training_were_measured(measured: dict[str, Any], torch: list[dict[str, Any]]) -> None:
    kinds = {rate["kind"] for rate in measured["rates"]}
    assert {"matmul", "memory", "copy", "launch", "operation", "pass", "loader"} <= kinds
    assert measured["training"] and measured["batches"] and measured["cpu"]
    assert {"proof", "matmul", "memory", "training", "sweep"} <= {load["phase"] for load in measured["loads"]}


def test_products_and_copies_of_every_gpu_are_right(measured: dict[str, Any], torch: list[dict[str, Any]]) -> None:
    """And, as far as one run can show, the same each time: a GPU on which they are not is news."""
    timed = {(rate["device"], rate["what"]) for rate in measured["rates"] if rate["kind"] == "matmul"}
    assert {(p["device"], p["what"]) for p in measured["products"] if p["right"] is True} == timed
    assert {device for device, _ in timed} == {proof["device"] for proof in torch}
    assert [p for p in measured["products"] if p.get("differing_repeats", 0)] == []
    assert all(p.get("over_bound", 0) < 1 for p in measured["products"])
    copies = {(c["device"], c["what"]) for c in measured["copies"] if c["right"] is True}
    assert {(p["device"], what) for p in torch for what in ("d2d", "h2d-pinned", "d2h-pinned")} <= copies


def test_gpus_pass_data(measured: dict[str, Any], torch: list[dict[str, Any]]) -> None:
    if len(torch) < 2:
        pytest.skip("one GPU")
    assert measured["pairs"] and all(pair["right"] is True for pair in measured["pairs"])
    assert measured["collective"]["right"] is True


def test_a_saved_report_is_judged_the_same(full: dict[str, Any], tmp_path: Path) -> None:
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps(full))
    again = _report("check", "--from", str(saved))
    assert [f["id"] for f in again["findings"]] == [f["id"] for f in full["findings"]]


def test_healthcheck_proves_in_one_line(torch: list[dict[str, Any]]) -> None:
    done = _gpudoctor("healthcheck", "--prove")
    assert done.returncode == 0 and done.stdout.startswith("OK")
    assert done.stdout.count("\n") == 1 and len(done.stdout.rstrip("\n")) <= 80
