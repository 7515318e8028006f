"""slower-than-baseline: a proof beside an earlier one, GPU by key, driver and torch told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from doctor.findings import Policy
from doctor.findings.measured_baseline import baseline_of
from doctor.report.json import render_json
from doctor.snapshot import Missing, Rate, Snapshot, known
from doctor.snapshot.redact import redact

from ..judging import POLICY, ids, report, run
from ..proof.stories import BOARDS, KEY, changed, loads, proven
from .test_gpu_link_slow import one_slow, switched
from .test_gpu_slower_than_siblings import key

ID = "slower-than-baseline"
B = BOARDS["h100"]


def held(s: Snapshot, before: Snapshot, percent: float = 10.0) -> tuple[str, str, list[Any], Policy]:
    policy = replace(POLICY, baseline=baseline_of(before, "2026-11-01", percent))
    return *run(ID, s, policy), policy


def scaled(s: Snapshot, factor: float, what: str = "bf16", spread: float = 1.0) -> Snapshot:
    rates = known(s.measured.rates) or ()
    return changed(
        s,
        rates=tuple(replace(r, value=r.value * factor, spread_percent=spread) if r.what == what else r for r in rates),
    )


def test_without_a_baseline_nothing_is_said() -> None:
    assert run(ID, proven(B))[0] == "skipped"


def test_a_driver_that_only_nvml_told_is_told() -> None:
    """Containers often have no /proc/driver/nvidia."""
    s = proven(B).replace({"driver.kernel_version": Missing("absent")})
    (remark,) = held(s, s)[2]
    assert f"driver {known(s.driver.version)} (unchanged)" in remark.detail and known(s.driver.version)


def test_the_same_again_is_no_change() -> None:
    status, _, findings, _ = held(proven(B), proven(B))
    assert status == "pass" and [f.severity for f in findings] == ["info"]
    assert "No rate clearly changed" in findings[0].title and findings[0].facts["changes"] == []


def test_a_lost_fifth_fails_and_names_driver_and_torch() -> None:
    before = proven(B).replace({"driver.kernel_version": "550.54.15", "torch.version": "2.6.0"})
    now = scaled(proven(B), 0.8)
    status, _, findings, policy = held(now, before)
    assert status == "fail" and report(now, policy).exit_code == 1 and ids(now, policy, "fail") == [ID]
    lost = findings[0]
    assert lost.subject == KEY and "is 20 % slower than in the baseline: bf16 matmul" in lost.title
    assert "(previously 550.54.15)" in lost.detail and "(previously 2.6.0)" in lost.detail
    assert [(c["kind"], c["what"], c["percent"]) for c in lost.facts["changes"]] == [("matmul", "bf16", -20.0)]
    again = now.replace(dict(lost.fixes[0].steps[0].changes))
    assert run(ID, again, policy)[0] == "unknown"


def test_what_both_measurements_vary_by_is_no_change() -> None:
    assert held(scaled(proven(B), 0.8, spread=30.0), scaled(proven(B), 1.0, spread=30.0))[0] == "pass"
    assert held(scaled(proven(B), 0.8, spread=10.0), scaled(proven(B), 1.0, spread=10.0))[0] == "fail"


def test_ranges_that_do_not_overlap_are_called_so() -> None:
    """A loss of 8 % is smaller than the earlier spread of 15 %, but half of that lies below the median."""
    (remark,) = held(scaled(proven(B), 0.92, spread=0.5), scaled(proven(B), 1.0, spread=15.0))[2]
    assert "whose ranges do not overlap: bf16 matmul" in remark.detail and "both spreads" not in remark.detail
    (remark,) = held(scaled(proven(B), 0.92, spread=2.0), scaled(proven(B), 1.0, spread=15.0))[2]
    assert remark.facts["changes"] == [] and "bf16 matmul" not in remark.detail


def test_the_percentage_decides_and_less_is_a_remark() -> None:
    now = scaled(proven(B), 0.92)
    assert held(now, proven(B), 5.0)[0] == "fail"
    status, _, findings, policy = held(now, proven(B))
    assert status == "pass" and report(now, policy).exit_code == 0
    assert [c["percent"] for c in findings[0].facts["changes"]] == [-8.0]
    faster = held(scaled(proven(B), 1.5), proven(B))
    assert faster[0] == "pass" and "(+50 %)" in faster[2][0].detail


def test_of_times_more_is_slower() -> None:
    assert held(scaled(proven(B), 2.1, "eager"), proven(B))[0] == "fail"
    status, _, findings, _ = held(scaled(proven(B), 1.5, "eager"), proven(B))  # the host's load
    assert status == "pass" and [c["what"] for c in findings[0].facts["changes"]] == ["eager"]
    assert held(scaled(proven(B), 0.5, "eager"), proven(B))[0] == "pass"


def test_a_gpu_with_another_program_on_it_only_warns() -> None:
    busy = changed(scaled(proven(B), 0.6), loads=loads(B, others=1))
    assert held(busy, proven(B))[0] == "warn"


def test_another_gpu_is_not_the_same_gpu() -> None:
    other = proven(B)
    card = (known(other.gpus) or ())[0]
    key = "GPU-99999999-0000-4000-8000-000000000009"
    proofs = tuple(replace(proof, key=key) for proof in known(other.measured.torch) or ())
    devices = tuple(replace(device, uuid=key) for device in known(other.driver.cuda_devices) or ())
    other = other.replace({"gpus": (replace(card, key=key, uuid=key),), "driver.cuda_devices": devices})
    other = changed(other, torch=proofs, rates=tuple(r for r in known(other.measured.rates) or () if r.device != "cpu"))
    status, _, findings, policy = held(scaled(proven(B), 0.5), other)
    assert status == "unknown" and "H100" in findings[0].detail and report(proven(B), policy).exit_code == 3


@pytest.mark.slow
def test_a_masked_report_is_the_same_gpu(tmp_path: Path) -> None:
    """Through the command: the saved reports are masked, one of them kept its UUIDs; the exit code is the report's."""
    for name, s, masked in (
        ("old", proven(B), True),
        ("slow", scaled(proven(B), 0.7), False),
        ("same", proven(B), True),
    ):
        made = report(s)
        (tmp_path / f"{name}.json").write_bytes(render_json(redact(made) if masked else made))

    def prove(name: str, *more: str) -> subprocess.CompletedProcess[str]:
        words = ["prove", "--from", f"{name}.json", *more]
        argv = [sys.executable, "-m", "doctor", *words]
        return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)

    slow = prove("slow", "--baseline", "old.json", "--format", "json")
    found = json.loads(slow.stdout)
    assert slow.returncode == 1 and found["findings"][0]["id"] == ID and KEY not in slow.stdout
    assert prove("slow", "--baseline", "old.json", "--regression-percent", "40").returncode == 0
    assert prove("same", "--baseline", "old.json").returncode == 0
    text = prove("slow", "--baseline", "old.json")
    assert "slower than in the baseline" in " ".join(text.stdout.split())
    (tmp_path / "judged.json").write_text(slow.stdout)
    assert prove("judged").returncode == 1  # the baseline is in the saved policy
    (tmp_path / "none.json").write_bytes(render_json(report(changed(proven(B), rates=()))))
    for words, said in (
        (["--baseline", "nowhere.json"], "cannot read nowhere.json"),
        (["--baseline", "none.json"], "contains no measured rates"),
        (["--regression-percent", "5"], "requires --baseline"),
        (["--baseline", "old.json", "--regression-percent", "0"], "regression-percent"),
    ):
        bad = prove("same", *words)
        assert bad.returncode == 2 and said in bad.stderr and "Traceback" not in bad.stderr, (words, bad.stderr)


def test_a_rate_of_the_processor_has_no_gpu() -> None:
    rate = Rate(kind="matmul", device="cpu", what="fp32", value=2.0, unit="TFLOP/s", runs=9)
    before = changed(proven(B), rates=(rate,))
    status, _, findings, _ = held(changed(before, rates=(replace(rate, value=1.0),)), before)
    assert status == "fail" and findings[0].subject == "cpu"


def test_a_slow_link_is_found_by_the_keys_of_both_gpus() -> None:
    def at(rate: float) -> Snapshot:
        return switched(one_slow(rate, 380.0, 2, 6))

    before = at(380.0)
    status, _, findings, _ = held(at(380.0), before)
    assert status == "pass" and "No rate clearly changed" in findings[0].title
    status, _, findings, policy = held(at(300.0), before)
    lost = [f for f in findings if f.status == "fail"]
    assert {f.subject for f in lost} == {f"{key(2)}>{key(6)}", f"{key(6)}>{key(2)}"} and "cuda:2 to cuda:6" in lost[
        0
    ].title
    assert all(key(2) not in rate.key for rate in (policy.baseline.rates if policy.baseline else ()))
