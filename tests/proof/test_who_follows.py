"""Behind a child that hangs or dies: which device a new one goes on with."""

from __future__ import annotations

from typing import Any

from doctor.proof.kept import Kept
from doctor.proof.plan import Plan
from doctor.targets.agent import AgentResult

from ..rows import for_each

OFFERED = {"field": "torch_devices", "value": ["a", "b", "c"]}


def seen(*ordinals: int) -> list[dict[str, Any]]:
    return [{"driver_proof": {"device": f"cuda:{number}"}} for number in ordinals]


@for_each(
    ("lines", "fault", "devices", "first", "following"),
    [
        ([], "crash", 8, 0, None),
        (seen(0, 1), "crash", 8, 0, 2),
        (seen(0, 1), "hang", 3, 0, 2),
        (seen(0, 1), "crash", 2, 0, None),
        (seen(0, 1), "crash", None, 0, 2),
        (seen(1), "crash", 8, 4, 5),
        ([OFFERED, *seen(0)], "crash", 8, 0, 1),
        ([OFFERED, *seen(0, 2)], "crash", 8, 0, None),
        ([OFFERED, *seen(0)], None, 8, 0, 1),
        (seen(0), None, 8, 0, None),
        ([{"device": "cuda:3", "begin": "launch"}], "hang", 8, 0, 4),
    ],
)
def test_the_device_to_go_on_with(
    lines: list[dict[str, Any]], fault: Any, devices: int | None, first: int, following: int | None
) -> None:
    kept = Kept(Plan(level="quick", total_s=60, commands={}, devices=devices))
    assert kept.following(AgentResult(lines, fault=fault), first) == following
