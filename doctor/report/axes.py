"""Axes of a picture: from a value to a pixel, and where its ticks stand."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import NamedTuple


class LogAxis(NamedTuple):
    """Logarithmic; `low`, `high` above 0 fall on the pixels `start`, `end` (end may be the smaller: an y axis)."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value above 0; past the ends for values outside."""
        share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten; with 2 and 5 between them where the axis spans less than two decades."""
        first, last = floor(log10(self.low)), ceil(log10(self.high))
        steps = (1, 2, 5) if log10(self.high / self.low) < 2 else (1,)
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [tick for tick in found if self.low * (1 - 1e-9) <= tick <= self.high * (1 + 1e-9)]


class LinearAxis(NamedTuple):
    """From `low` to `high` on the pixels `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers, at most about `most` of them."""
        raw = (self.high - self.low) / most
        power = 10.0 ** floor(log10(raw))
        step = next(s * power for s in (1, 2, 5, 10) if s * power >= raw * 0.999)
        return [n * step for n in range(ceil(self.low / step), floor(self.high / step * 1.0001) + 1)]


def spread_labels(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places on a line for labels that want these: `gap` apart or more, in the same order, in low..high if they fit."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    positions = [min(max(wanted[i], low), high) for i in order]
    for index in range(1, len(positions)):
        positions[index] = max(positions[index], positions[index - 1] + gap)
    if positions and positions[-1] > high:
        positions[-1] = high
        for index in range(len(positions) - 2, -1, -1):
            positions[index] = min(positions[index], positions[index + 1] - gap)
    result = [0.0] * len(wanted)
    for position, index in zip(positions, order, strict=True):
        result[index] = position
    return result
