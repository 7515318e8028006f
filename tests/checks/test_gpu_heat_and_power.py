"""gpu-too-hot, gpu-power-or-thermal-limited, power-limit-lowered."""

from __future__ import annotations

from doctor.findings import Policy
from doctor.snapshot import Snapshot

from ..healthy import NOT_SUPPORTED, healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from .gpu_readings import NOT_READ, at_work, monitored, one, only

HOT, LIMITED, LOWERED = "gpu-too-hot", "gpu-power-or-thermal-limited", "power-limit-lowered"
SW, HW = 0x20, 0x40


def heated(model: str, **facts: object) -> Snapshot:
    return one(model, **{"utilization_percent": 100, "pcie_gen": 4, "clock_event_reasons": 0x4, **facts})


@for_each(
    ("celsius", "reasons", "status", "said"),
    [
        (74, 4, "pass", 0),
        (75, 4, "pass", 1),
        (79, 4, "pass", 1),
        (80, 4, "warn", 1),
        (84, 4, "warn", 1),
        (95, 4, "warn", 1),
        (83, SW, "warn", 1),
        (84, SW, "fail", 1),
        (84, HW | 8, "fail", 1),
        (34, 1, "pass", 0),
    ],
)
def test_without_a_limit_of_its_own_the_temperature_decides(celsius: int, reasons: int, status: str, said: int) -> None:
    s = heated("t4", temperature_c=celsius, clock_event_reasons=reasons, temperature_slowdown_c=NOT_SUPPORTED)
    got, _, findings = run(HOT, s)
    assert (got, len(findings)) == (status, said)


@for_each(
    ("celsius", "margin", "reasons", "status"),
    [
        (86, 15, 4, "pass"),
        (60, 5, 4, "warn"),
        (60, 6, 4, "pass"),
        (90, 0, SW, "fail"),
        (90, -3, HW, "fail"),
        (34, 0, 1, "pass"),
        (34, -5, 1, "pass"),
        (NOT_SUPPORTED, 15, 4, "pass"),
        (NOT_SUPPORTED, 5, 4, "warn"),
        (NOT_SUPPORTED, 0, SW, "fail"),
        (NOT_SUPPORTED, 0, 1, "pass"),  # neither can be believed
    ],
)
def test_its_own_margin_decides_where_it_can_be_believed(
    celsius: object, margin: int, reasons: int, status: str
) -> None:
    s = heated("h100", temperature_c=celsius, temperature_margin_c=margin, clock_event_reasons=reasons)
    assert run(HOT, s)[0] == status


@for_each(("celsius", "reasons", "status"), [(87, 4, "pass"), (88, 4, "warn"), (93, 4, "warn"), (93, HW, "fail")])
def test_its_slowdown_temperature_decides(celsius: int, reasons: int, status: str) -> None:
    assert run(HOT, heated("l4", temperature_c=celsius, clock_event_reasons=reasons))[0] == status


def test_heat_comes_first_and_can_be_mended() -> None:
    for container in (False, True):
        sick = one("t4", container=container, temperature_c=93, clock_event_reasons=HW | 8, utilization_percent=98)
        sick = sick.replace({"gpus": (sick.gpus[0].with_(pcie_gen=4),)})  # type: ignore[index, union-attr]
        assert ids(sick) == [HOT, LIMITED]
        for check_id in (HOT, LIMITED):
            assert_fix_works(sick, only(check_id, sick))
        assert only(HOT, sick).fixes[0].possible_here is True


def test_thresholds_of_heat_are_the_policys() -> None:
    warm = one("rtx4090", temperature_c=70)
    assert run(HOT, warm)[0] == "pass"
    assert run(HOT, warm, Policy(thresholds={"temperature_warn_c": 70}))[0] == "warn"
    assert (
        run(HOT, one("h100", temperature_margin_c=12), Policy(thresholds={"temperature_margin_warn_c": 15}))[0]
        == "warn"
    )


def test_heat_unknown_or_skipped_without_a_temperature() -> None:
    assert run(HOT, one("t4", temperature_c=NOT_READ))[0] == "unknown"
    assert run(HOT, one("t4", temperature_c=NOT_SUPPORTED))[0] == "skipped"


def test_a_laptop_at_its_limit_is_a_remark() -> None:
    s = heated(
        "rtx3060",
        name="NVIDIA GeForce RTX 3060 Laptop GPU",
        temperature_c=92,
        clock_event_reasons=SW,
        power_limit_w=80.0,
        pcie_width=8,
    )
    for check_id in (HOT, LIMITED, LOWERED, "pcie-link-or-topology-slow"):
        assert run(check_id, s)[0] in ("pass", "skipped")


@for_each(
    ("reasons", "busy", "status", "said"),
    [
        (0x1, 0, "pass", 0),
        (0x0, 0, "pass", 0),
        (0x4, 100, "pass", 1),
        (0x4, 0, "pass", 0),
        (0x2, 100, "pass", 0),
        (0x100, 100, "pass", 0),
        (SW, 100, "warn", 1),
        (SW | 4, 100, "warn", 1),
        (SW, 0, "pass", 0),
        (8, 100, "fail", 1),
        (8 | 1, 0, "pass", 0),
        (HW, 100, "fail", 1),
        (HW, 0, "warn", 1),
        (0x80 | 8, 100, "fail", 1),
        (0x80, 0, "warn", 1),
    ],
)
def test_each_reason_of_the_clocks(reasons: int, busy: int, status: str, said: int) -> None:
    got, _, findings = run(LIMITED, heated("h100", clock_event_reasons=reasons, utilization_percent=busy))
    assert (got, len(findings)) == (status, said)


def test_a_power_brake_is_the_only_finding_and_speaks_of_cables_only_where_there_are_some() -> None:
    for model, container, said in (
        ("rtx4090", False, True),
        ("rtx4090", True, False),
        ("h100", False, False),
        ("l4", False, False),
    ):
        sick = one(model, container=container, clock_event_reasons=0x88, utilization_percent=90, pcie_gen=4)
        assert ids(sick) == [LIMITED]
        finding = only(LIMITED, sick)
        assert any("8-pin" in step.text for fix in finding.fixes for step in fix.steps) is said
        assert_fix_works(sick, finding)
    rented = one("rtx4090", clock_event_reasons=0x88, utilization_percent=90).replace({"host.virtualization": "kvm"})
    assert "8-pin" not in only(LIMITED, rented).fixes[0].steps[0].text


@for_each(("model", "watts", "percent", "cables"), [("rtx4090", 300.0, 67, True), ("h100", 500.0, 71, False)])
def test_a_lowered_limit_is_a_warning_with_its_percentage(model: str, watts: float, percent: int, cables: bool) -> None:
    sick = one(model, power_limit_w=watts)
    assert ids(sick) == [LOWERED]
    finding = only(LOWERED, sick)
    assert (finding.status, finding.facts["percent"], "12-pin" in finding.detail) == ("warn", percent, cables)
    assert_fix_works(sick, finding)


def test_limits_that_are_no_fault() -> None:
    assert run(LOWERED, one("rtx4090", power_limit_w=600.0))[0] == "pass"
    assert run(LOWERED, one("rtx4090", power_limit_w=449.0))[0] == "pass"
    assert (
        run(LOWERED, one("rtx4090", power_limit_w=400.0), Policy(thresholds={"power_limit_percent": 80}))[0] == "pass"
    )
    assert run(LOWERED, one("h100", virtualization_mode=2, power_limit_w=100.0))[0] == "skipped"


def test_full_load_at_80_degrees_and_the_power_cap_is_healthy() -> None:
    assert ids(at_work(monitored(healthy("h100")))) == []
