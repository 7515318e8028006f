"""power-capped and thermally-throttled: what NVML showed while the GPU worked."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.findings import Policy
from doctor.snapshot import NOT_ASKED, Missing, Snapshot

from ..judging import ids, run
from ..proof.stories import BOARDS, KEY, assert_every_fix_is_looked_at_again, load, loads, machine, proven, watched
from ..rows import for_each

CAPPED, HOT = "power-capped", "thermally-throttled"
B = BOARDS["4090"]


def seen(reasons: dict[str, float], limit_w: float = 450.0, **more: Any) -> Snapshot:
    s = machine(B)
    assert isinstance(s.gpus, tuple)
    s = s.replace({"gpus": (s.gpus[0].with_(power_limit_w=limit_w),)})
    return proven(B, s, loads=loads(B, reasons_percent=reasons, power_limit_w=limit_w, **more))


@for_each(
    ("reasons", "limit_w", "status", "said"),
    [
        ({}, 450, "pass", 0),
        ({"power-cap": 24.0}, 270, "pass", 0),
        ({"power-cap": 90.0}, 270, "warn", 1),
        ({"power-cap": 90.0}, 450, "pass", 1),
        ({"power-cap": 90.0}, 445, "pass", 1),
        ({"power-cap": 90.0}, 600, "pass", 1),
        ({"power-brake": 9.0}, 450, "pass", 0),
        ({"power-brake": 30.0}, 450, "fail", 1),
        ({"idle": 100.0}, 270, "pass", 0),
    ],
)
def test_power(reasons: dict[str, float], limit_w: float, status: str, said: int) -> None:
    s = seen(reasons, limit_w)
    got, _, findings = run(CAPPED, s)
    assert (got, len(findings)) == (status, said)
    for finding in findings:
        assert finding.subject == KEY and finding.facts["samples"] == 40
        if finding.status != "pass":
            assert_every_fix_is_looked_at_again(s, finding)


def test_a_lowered_limit_stands_above_what_it_does() -> None:
    assert ids(seen({"power-cap": 90.0}, 270)) == ["power-limit-lowered", CAPPED]


@for_each(
    ("reasons", "status"),
    [
        ({"sw-thermal": 9.0}, "pass"),
        ({"sw-thermal": 10.0}, "warn"),
        ({"hw-thermal": 50.0}, "fail"),
        ({"hw-slowdown": 50.0}, "pass"),
        ({"sw-thermal": 50.0, "hw-thermal": 2.0}, "warn"),
    ],
)
def test_heat(reasons: dict[str, float], status: str) -> None:
    s = seen(reasons, temperature_max_c=92)
    got, _, findings = run(HOT, s)
    assert got == status and ids(s) == ([HOT] if status != "pass" else [])
    for finding in findings:
        assert "It reached 92 C." in finding.detail
        assert_every_fix_is_looked_at_again(s, finding)


def test_the_worst_phase_is_told_and_a_watched_run_counts() -> None:
    s = proven(B, loads=(load("matmul", B), load("training", B, reasons_percent={"sw-thermal": 30.0})))
    assert run(HOT, s)[2][0].facts["phase"] == "training"
    s = watched(B).replace({"measured.loads": (load("watch", B, reasons_percent={"sw-thermal": 30.0}),)})
    assert ids(s) == [HOT]


@for_each("check_id", [CAPPED, HOT])
def test_what_proves_nothing(check_id: str) -> None:
    reasons = {"sw-thermal": 90.0, "power-brake": 90.0}
    assert run(check_id, proven(B, loads=(load("proof", B, reasons_percent=reasons),)))[0] == "skipped"
    assert run(check_id, proven(B, loads=(load("matmul", B, samples=3, reasons_percent=reasons),)))[0] == "skipped"
    assert run(check_id, proven(B, loads=NOT_ASKED))[0] == "skipped"
    assert run(check_id, proven(B, loads=Missing("error", "NVML 999")))[0] == "unknown"


def test_a_laptop_is_a_remark() -> None:
    laptop = B._replace(name="NVIDIA GeForce RTX 4090 Laptop GPU", pci="2717", mib=16376)
    s = proven(
        laptop,
        machine(laptop),
        loads=loads(laptop, reasons_percent={"hw-thermal": 60.0, "power-cap": 60.0}, power_limit_w=80.0),
    )
    for check_id in (CAPPED, HOT):
        status, _, findings = run(check_id, s)
        assert (status, len(findings)) == ("pass", 1)


def test_thresholds_are_the_policys() -> None:
    s = seen({"sw-thermal": 30.0, "power-cap": 30.0}, 270)
    lax = Policy(thresholds={"slowed_samples_percent": 50, "power_cap_samples_percent": 50})
    assert [run(check_id, s, lax)[2] for check_id in (CAPPED, HOT)] == [[], []]


def test_gpus_that_nobody_lists() -> None:
    s = seen({"hw-thermal": 60.0}).replace({"gpus": Missing("denied")})
    finding = run(HOT, s)[2][0]
    assert finding.subject == KEY
    assert_every_fix_is_looked_at_again(s, finding)


@for_each("check_id", [CAPPED, HOT])
def test_reasons_that_nvml_did_not_give_are_no_pass(check_id: str) -> None:
    """A GPU whose reasons were read is judged all the same."""
    status, why, _ = run(check_id, seen({}, reasons_samples=Missing("absent")))
    assert status == "skipped" and "no clock event reasons" in why
    one, other = (
        loads(B, reasons_percent={"power-brake": 90.0, "hw-thermal": 90.0}),
        loads(B, reasons_samples=Missing("absent")),
    )
    both = (*one, *(replace(load, key="GPU-two") for load in other))
    assert run(check_id, proven(B, loads=both))[0] == "fail"


@for_each("missing", ["clock_sm_mhz", "clock_sm_max_mhz", "utilization_percent"])
def test_a_clock_that_was_not_read_is_no_pass(missing: str) -> None:
    s = seen({}, **{missing: Missing("denied")})
    assert run("clock-held-low", s)[0] == "skipped"
