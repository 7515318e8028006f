"""The largest batch, sequence or number of requests that fits, and the part that ends it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from .memory import Estimate, estimate
from .shape import Shape
from .work import Work

_MOST = 1 << 30


class Solved(Struct, frozen=True):
    """sure: the most that fits by the high ends of all parts; perhaps: by the low ends; part: what grows most."""

    sure: int
    perhaps: int
    part: str
    at: Estimate


def largest(shape: Shape, count: float, work: Work, memory: float, sequence: bool, parts: float = 1.0) -> Solved:
    """The longest sequence, else the largest batch, for one GPU of so many bytes; 0 if even 1 does not fit."""

    def held(value: int) -> Estimate:
        changed = replace(work, sequence=value) if sequence else replace(work, batch=value)
        return estimate(shape, count, changed, parts)

    sure = _last(lambda value: held(value).high <= memory)
    perhaps = _last(lambda value: held(value).low <= memory)
    one, more = held(max(1, sure)), held(max(1, sure) * 2)
    grown = {part.name: part.high for part in one.parts}
    part = max(more.parts, key=lambda part: part.high - grown.get(part.name, 0.0)).name
    return Solved(sure, perhaps, part, one)


def _last(test: Callable[[int], bool]) -> int:
    """The largest whole number for which `test` is true, where it is true below and false above; 0 if for none."""
    if not test(1):
        return 0
    high = 1
    while high < _MOST and test(high * 2):
        high *= 2
    low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if test(middle) else (low, middle)
    return low
