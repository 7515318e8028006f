"""clock-held-low: a low clock under load that neither power nor heat explains."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import Missing, Snapshot

from ..judging import ids, run
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
        ("h100", {"clock_sm_mhz": 345.0, "utilization_percent": 4.0}, "pass"),  # pauses, not work
        ("h100", {"clock_sm_mhz": 1590.0, "clock_sm_max_mhz": Missing("denied")}, "pass"),
        ("a10", {"clock_sm_mhz": 1200.0, "clock_sm_max_mhz": 1695}, "warn"),
        ("4090", {"clock_sm_mhz": 2700.0, "clock_sm_max_mhz": 3105}, "pass"),  # a sound one holds 2,655 to 2,820
        ("4090", {"clock_sm_mhz": 2100.0, "clock_sm_max_mhz": 3105}, "pass"),  # nothing shows that it is held
        (
            "4090",
            {"clock_sm_mhz": 2100.0, "clock_sm_max_mhz": 3105, "reasons_percent": {"clocks-setting": 100.0}},
            "warn",
        ),
        (
            "4090",
            {"clock_sm_mhz": 2100.0, "clock_sm_max_mhz": 3105, "reasons_percent": {"clocks-setting": 30.0}},
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


def test_one_phase_at_its_full_clock_is_enough() -> None:
    b = BOARDS["h100"]
    slow = loads(b, power_w=300.0, clock_sm_mhz=1500.0)
    s = proven(b, machine(b), loads=(*slow, load("training", b, power_w=300.0, clock_sm_mhz=1980.0)))
    assert run(ID, s)[0] == "pass"


def test_an_older_board_and_a_virtual_one_are_not_judged_without_a_reason() -> None:
    for board, change in (("h100", {"compute_capability": "7.0"}), ("h100", {"virtualization_mode": 3})):
        s = seen(board, clock_sm_mhz=1300.0)
        assert isinstance(s.gpus, tuple)
        assert run(ID, s.replace({"gpus": (s.gpus[0].with_(**change),)}))[0] == "pass", change


def test_it_comes_before_what_it_makes_slow() -> None:
    b = BOARDS["h100"]
    s = proven(b, machine(b), rates=rates(b, speed=0.8), loads=loads(b, power_w=300.0, clock_sm_mhz=1590.0))
    found = ids(s)
    assert found[0] == ID and "matmul-below-range" in found
