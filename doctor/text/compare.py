"""Conditions on the numbers that a message's pattern captured, which a pattern cannot express."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

_LANES = {1.0, 2.0, 4.0, 8.0, 16.0}
_UNITS = {"gib": 1024.0, "mib": 1.0}


class Compare(NamedTuple):
    """`holds(numbers)`; `units`: each number is a group, and its unit (GiB, MiB) the next one, here in MiB."""

    groups: int
    """How many the pattern has at least."""
    holds: Callable[[list[float]], bool]
    units: bool = False


COMPARE: dict[str, Compare] = {
    "second-over-0.8-of-first": Compare(2, lambda n: n[0] > 0 and 0.8 <= n[1] / n[0] <= 1),
    "most-of-second": Compare(2, lambda n: n[1] > 1 and 0.5 <= n[0] / n[1] <= 1),
    "first-less": Compare(2, lambda n: n[0] < n[1]),
    "first-far-less": Compare(4, lambda n: 0 < 1.5 * n[0] < n[1], units=True),
    "lanes-below": Compare(2, lambda n: n[0] < n[1] and {*n[:2]} <= _LANES),
    "most-held-elsewhere": Compare(3, lambda n: n[0] > 0 and n[0] * 1024 - n[1] - n[2] > 0.6 * n[0] * 1024),
    "most-held-here": Compare(4, lambda n: n[0] > 0 and n[1] > 0.5 * n[0], units=True),
    "most-held-elsewhere-units": Compare(6, lambda n: n[0] > 0 and n[0] - n[1] - n[2] > 0.6 * n[0], units=True),
}
"""`differ`, two texts that are not the same, is the one that needs no numbers. `most-held-elsewhere`: the total in GiB,
the program's own memory and the free in MiB; with units: total, (free,) own."""
DIFFER = "differ"


def agrees(how: str, groups: tuple[str, ...]) -> bool:
    """Whether the condition holds; '' always does, and what is no number makes it false."""
    if not how:
        return True
    if how == DIFFER:
        return len(groups) >= 2 and groups[0] != groups[1]
    compare = COMPARE[how]
    if len(groups) < compare.groups:
        return False
    try:
        if compare.units:
            pairs = zip(groups[::2], groups[1::2], strict=False)
            return compare.holds([float(number) * _UNITS.get(unit.lower(), 0.0) for number, unit in pairs])
        return compare.holds([float(group) for group in groups])
    except ValueError:
        return False
