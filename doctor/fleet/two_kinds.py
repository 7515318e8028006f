"""Whether the nodes of a cohort are of two kinds in one figure, such as two coolers: each is then its own measure."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from .thresholds import Kind, thresholds


class TwoKinds(NamedTuple):
    """Two sets of nodes, by their medians of a figure."""

    below: float
    """The nodes of the slower kind have medians up to this one."""
    means: tuple[float, float]
    """Of the slower and of the faster kind."""
    sizes: tuple[int, int]
    """Nodes."""
    distance: float
    """Ashman's D."""


def split(medians: Sequence[float], kind: Kind) -> TwoKinds | None:
    """The two kinds of nodes, from the median of one figure on each node; None where there is one.

    The cut is the one that leaves least variance within the two. It counts if Ashman's D is above 3.6, each kind has a
    tenth of the nodes, and they differ by more than the spread that a single kind has.
    """
    limits = thresholds()
    count = len(medians)
    if count < limits.kinds_nodes.value:
        return None
    ordered = sorted(medians)
    least = max(2, -int(-count * limits.kinds_share.value // 1))
    values = _without_outliers(ordered, least)
    at = _cut(values, least)
    if at is None:
        return None
    low, high = _mean(values[:at]), _mean(values[at:])
    prior = limits.prior(kind) * abs(_middle(values))
    between = _variance(values[:at], low, prior) + _variance(values[at:], high, prior)
    distance = sqrt(2) * (high - low) / sqrt(between) if between else 0.0
    if distance <= limits.kinds_distance.value or high - low <= prior:
        return None
    return TwoKinds(ordered[at - 1], (low, high), (at, count - at), distance)


def _without_outliers(ordered: list[float], least: int) -> list[float]:
    """A single broken node is no kind, and widens that which it is counted in: it is moved to the edge. Both kinds have
    nodes between the tenth from below and the tenth from above."""
    low, high = ordered[least - 1], ordered[-least]
    wide = high - low
    return [min(max(value, low - wide), high + wide) for value in ordered]


def _cut(ordered: list[float], least: int) -> int | None:
    """How many values the lower kind has; equal values are never parted."""
    shift = ordered[len(ordered) // 2]  # sums of squares near zero lose no digits
    total = sum(value - shift for value in ordered)
    best, found, left, count = -1.0, None, 0.0, len(ordered)
    for number, value in enumerate(ordered[:-1], start=1):
        left += value - shift
        if number < least or count - number < least or value == ordered[number]:
            continue
        gain = left * left / number + (total - left) ** 2 / (count - number)
        if gain > best:
            best, found = gain, number
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _middle(ordered: Sequence[float]) -> float:
    return ordered[len(ordered) // 2]


def _variance(values: Sequence[float], mean: float, prior: float) -> float:
    """Shrunk to the prior with the weight of some values, as the spread of a cohort is: few values, or rounded ones,
    are no proof of a narrow kind."""
    weight = thresholds().prior_weight.value
    own = sum((value - mean) ** 2 for value in values)
    return (own + weight * prior * prior) / (len(values) + weight)
