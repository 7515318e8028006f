"""clock-held-low: a low clock under load that neither power nor heat explains."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import Missing, Snapshot

from ..judging import ids, matrix, run
from ..proof.stories import BOARDS, KEY, assert_every_fix_is_looked_at_again, load, loads, machine, proven, rates
from ..rows import for_each

ID = "clock-held-low"


def seen(board: str, **facts: Any) -> Snapshot:
    b = BOARDS[board]
    return proven(b, machine(b), loads=loads(b, **{"power_w": 0.6 * b.watt, **facts}))


@for_each(
    ("board", "facts", "status"),
    [
        ("h100", {"clock_sm_mhz": 1957.0}, "pass"),  # measured: the H100's training
        ("h100", {"clock_sm_mhz": 1590.0}, "warn"),
        ("h100", {"clock_sm_mhz": 1590.0, "power_w": Missing("denied")}, "warn"),
        ("h100", {"clock_sm_mhz": 1464.0, "power_w": 695.0, "reasons_percent": {"power-cap": 100.0}}, "pass"),
        ("h100", {"clock_sm_mhz": 1464.0, "power_w": 695.0}, "pass"),  # at its limit, though no reason was read
        ("h100", {"clock_sm_mhz": 1464.0, "reasons_percent": {"sw-thermal": 6.0, "hw-thermal": 6.0}}, "pass"),
        ("h100", {"clock_sm_mhz": 1464.0, "reasons_percent": {"power-cap": 2.0}}, "warn"),
        ("h100", {"clock_sm_mhz": 345.0, "utilization_percent": 4.0}, "skipped"),  # pauses, not work
        ("h100", {"clock_sm_mhz": 1590.0, "clock_sm_max_mhz": Missing("denied")}, "skipped"),
        ("a10", {"clock_sm_mhz": 1200.0, "clock_sm_max_mhz": 1695}, "warn"),
        ("4090", {"clock_sm_mhz": 2700.0, "clock_sm_max_mhz": 3105}, "pass"),  # a sound one holds 2,655 to 2,820
        ("4090", {"clock_sm_mhz": 2520.0, "clock_sm_max_mhz": 3105}, "pass"),  # its listed boost clock
        ("4090", {"clock_sm_mhz": 2400.0, "clock_sm_max_mhz": 3105}, "pass"),
        ("4090", {"clock_sm_mhz": 2300.0, "clock_sm_max_mhz": 3105}, "warn"),  # below nine tenths of 2,625
        ("4090", {"clock_sm_mhz": 2100.0, "clock_sm_max_mhz": 3105}, "warn"),
        ("4090", {"clock_sm_mhz": 2100.0, "clock_sm_max_mhz": 3105, "power_w": 440.0}, "pass"),
        ("4090", {"clock_sm_mhz": 2100.0, "clock_sm_max_mhz": 3105, "reasons_percent": {"power-cap": 60.0}}, "pass"),
        ("4090", {"clock_sm_mhz": 2100.0, "clock_sm_max_mhz": 3105, "reasons_percent": {"sw-thermal": 60.0}}, "pass"),
        (
            "4090",
            {"clock_sm_mhz": 2600.0, "clock_sm_max_mhz": 3105, "reasons_percent": {"clocks-setting": 100.0}},
            "warn",
        ),
        ("3090", {"clock_sm_mhz": 1695.0, "clock_sm_max_mhz": 2100}, "pass"),  # its listed boost clock
        ("3090", {"clock_sm_mhz": 1400.0, "clock_sm_max_mhz": 2100}, "warn"),
        ("a5000", {"clock_sm_mhz": 1695.0, "clock_sm_max_mhz": 2100}, "pass"),
        ("a5000", {"clock_sm_mhz": 1500.0, "clock_sm_max_mhz": 2100}, "warn"),
        ("pro6000", {"clock_sm_mhz": 1500.0, "clock_sm_max_mhz": 3090}, "pass"),  # no clock of it is listed
        (
            "pro6000",
            {"clock_sm_mhz": 1500.0, "clock_sm_max_mhz": 3090, "reasons_percent": {"clocks-setting": 100.0}},
            "warn",
        ),
        (
            "pro6000",
            {"clock_sm_mhz": 1500.0, "clock_sm_max_mhz": 3090, "reasons_percent": {"clocks-setting": 30.0}},
            "pass",
        ),
    ],
)
def test_which_clock_is_held(board: str, facts: dict[str, Any], status: str) -> None:
    s = seen(board, **facts)
    got, _, findings = run(ID, s)
    assert got == status, findings
    for finding in findings:
        assert finding.subject == KEY and finding.fixes[0].id == "reset-clocks"
        assert f"{facts['clock_sm_mhz']:.0f} of" in finding.title
        assert_every_fix_is_looked_at_again(s, finding)


NO_REASONS: dict[str, Any] = {"clock_sm_mhz": 1590.0, "reasons_samples": Missing("denied")}


@for_each(
    ("facts", "status", "words"),
    [
        ({}, "warn", "heat may be the cause"),
        ({"power_w": Missing("denied")}, "unknown", "no clock event reasons, and the power draw or limit is unknown"),
        ({"power_limit_w": Missing("denied")}, "unknown", "power or heat may explain it"),
        ({"power_w": 690.0}, "pass", ""),  # at its limit
        ({"power_w": Missing("denied"), "reasons_samples": 40}, "warn", "NVML reports no reason"),
        ({"power_w": Missing("denied"), "reasons_percent": {"clocks-setting": 100.0}}, "warn", "a clock setting"),
        ({"power_w": Missing("denied"), "clock_sm_mhz": 1957.0}, "pass", ""),
    ],
)
def test_readings_that_are_missing_rule_nothing_out(facts: dict[str, Any], status: str, words: str) -> None:
    got, reason, findings = run(ID, seen("h100", **{**NO_REASONS, **facts}))
    assert got == status and words in " ".join([reason, *(f.detail for f in findings)])


def test_it_says_what_others_hold() -> None:
    s = seen("4090", clock_sm_mhz=2100.0, clock_sm_max_mhz=3105)
    (finding,) = run(ID, s)[2]
    assert (
        "Healthy boards of this model hold 2625 MHz or more." in finding.detail and finding.facts["usual_mhz"] == 2625
    )


@for_each(
    ("name", "least"),
    [
        ("NVIDIA GeForce RTX 4090", 2625.0),
        ("NVIDIA GeForce RTX 3090", 1875.0),
        ("NVIDIA GeForce RTX 5090", 2588.0),
        ("NVIDIA RTX A6000", 1800.0),
        ("NVIDIA RTX A5000", 1860.0),
        ("NVIDIA GeForce RTX 4090 D", 0.0),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 0.0),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 0.0),
    ],
)
def test_the_clocks_that_were_measured(name: str, least: float) -> None:
    """No measured clock lies where a board at its listed boost clock would be reported."""
    m = matrix()
    rows = m.gpu(name).rows
    assert rows and m.usual_clock(rows) == least
    boosts = [spec.boost_mhz for spec in m.gpu_specs if spec.id == rows[0].id]
    assert all(0.9 * least <= (boost or 0.0) for boost in boosts)
    assert m.usual_clock(()) == 0.0


def test_one_phase_at_its_full_clock_is_enough() -> None:
    b = BOARDS["h100"]
    slow = loads(b, power_w=300.0, clock_sm_mhz=1500.0)
    s = proven(b, machine(b), loads=(*slow, load("training", b, power_w=300.0, clock_sm_mhz=1980.0)))
    assert run(ID, s)[0] == "pass"


def test_an_older_board_and_a_virtual_one_are_not_judged_without_a_reason() -> None:
    virtual = {"virtualization_mode": 3}
    for board, change in (("h100", {"compute_capability": "7.0"}), ("h100", virtual), ("4090", virtual)):
        s = seen(board, clock_sm_mhz=1300.0)
        assert isinstance(s.gpus, tuple)
        assert run(ID, s.replace({"gpus": (s.gpus[0].with_(**change),)}))[0] == "pass", change


def test_an_rtx_board_is_not_judged_by_its_maximum() -> None:
    """Those for servers too: without a measured clock, NVML has to give the reason."""
    m, s = matrix(), seen("h100", clock_sm_mhz=2000.0, clock_sm_max_mhz=2430)
    assert isinstance(s.gpus, tuple)
    servers = 0
    for row in m.gpus:
        if "RTX" not in row.name.split() or m.usual_clock((row,)):
            continue
        servers += row.segment == "datacenter"
        facts = {"name": row.name, "compute_capability": row.cc, "pci_device_id": (row.device_ids or ("",))[0].lower()}
        (gpu,) = s.gpus
        assert run(ID, s.replace({"gpus": (gpu.with_(**facts),)}))[0] == "pass", row.name
    assert servers >= 3


def test_it_comes_before_what_it_makes_slow() -> None:
    b = BOARDS["h100"]
    s = proven(b, machine(b), rates=rates(b, speed=0.8), loads=loads(b, power_w=300.0, clock_sm_mhz=1590.0))
    found = ids(s)
    assert found[0] == ID and "matmul-below-range" in found
