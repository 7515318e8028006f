"""Sustained load: the rate of its last seconds compared with that of its first, and what went with it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from ..snapshot import Measured, SoakPoint, known

ENDS = 0.1
"""Share of the time at each end that is compared; five points at most."""
_MOST = 5
SHORT_S = 10.0
"""A shorter load says nothing about heat."""


class Course(NamedTuple):
    """One GPU's load from its first to its last seconds; medians of both."""

    device: str
    what: str
    unit: str
    seconds: float
    first: float
    last: float
    clocks: tuple[float, ...]
    """(at first, at last) MHz; empty if NVML did not tell."""
    power_w: float | None
    hottest_c: int | None
    reasons: dict[str, float]
    """Of the last seconds: clock event reason to its share of the samples, in percent."""
    compared: int

    @property
    def percent(self) -> float:
        """By how much the last seconds differ from the first."""
        return 100 * (self.last / self.first - 1) if self.first else 0.0


def courses(m: Measured) -> list[Course]:
    """Each device's, in their order."""
    points = known(m.soak) or ()
    return [_course([p for p in points if p.device == device]) for device in dict.fromkeys(p.device for p in points)]


def _course(points: Sequence[SoakPoint]) -> Course:
    count = max(1, min(_MOST, int(len(points) * ENDS)))
    first, last = points[:count], points[-count:]
    clocks = [[c for p in part if (c := known(p.clock_sm_mhz)) is not None] for part in (first, last)]
    powers = [w for p in points if (w := known(p.power_w)) is not None]
    names = {name for p in last for name in p.reasons_percent}
    return Course(
        points[0].device,
        points[0].what,
        points[0].unit,
        points[-1].at_s + points[-1].seconds,
        median(p.rate for p in first),
        median(p.rate for p in last),
        (median(clocks[0]), median(clocks[1])) if all(clocks) else (),
        median(powers) if powers else None,
        max((c for p in points if (c := known(p.temperature_max_c)) is not None), default=None),
        {name: sum(p.reasons_percent.get(name, 0.0) for p in last) / len(last) for name in sorted(names)},
        sum(p.compared for p in points),
    )
