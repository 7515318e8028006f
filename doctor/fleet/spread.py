"""Median, spread and limit of values that are compared: what a few slow ones among them do not move."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from .thresholds import Kind, thresholds

_NORMAL = 1.4826
"""The MAD of a normal distribution times this is its standard deviation."""


class Measure(NamedTuple):
    """Median, spread and the normal quantile that a set of values is judged by."""

    number: int
    """How many values."""
    median: float
    spread: float
    k: float

    def limit(self, floor: float) -> float:
        """Below it, a value is neither chance nor a difference that does not matter."""
        return min(self.median - self.k * self.spread, self.median * (1 - floor))


def measure(ordered: Sequence[float], kind: Kind) -> Measure:
    """m, s and k of values in ascending order, one at least.

    s is the larger of 1.4826 MAD and the same of the lower half alone, as variances shrunk to the kind's prior, which
    has the weight of 10 values.
    """
    limits = thresholds()
    count, middle = len(ordered), median(ordered)
    raw = _NORMAL * mad(ordered, middle)
    if count > 1:
        raw = max(raw, _NORMAL * (middle - median(ordered[: (count + 1) // 2])))
    weight, prior = limits.prior_weight.value, limits.prior(kind) * abs(middle)
    spread = sqrt((count * raw * raw + weight * prior * prior) / (count + weight))
    k = max(limits.least_k.value, -NormalDist().inv_cdf(limits.chance.value / count))
    return Measure(count, middle, spread, k)


def median(ordered: Sequence[float]) -> float:
    """Of values in ascending order, one at least."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def mad(ordered: Sequence[float], middle: float) -> float:
    """Median of the distances from the median, by walking outwards from it: no second sort."""
    count = len(ordered)
    right = count // 2
    left = right - 1
    last = before = 0.0
    for _ in range(count // 2 + 1):
        before = last
        down = middle - ordered[left] if left >= 0 else None
        up = ordered[right] - middle if right < count else None
        if up is None or (down is not None and down <= up):
            last, left = down or 0.0, left - 1
        else:
            last, right = up, right + 1
    return last if count % 2 else (before + last) / 2
