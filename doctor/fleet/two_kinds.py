"""Whether the nodes of a cohort are of two kinds in one figure, such as two coolers: each is then its own measure."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, log1p, sqrt
from typing import NamedTuple

from .thresholds import Kind, thresholds

_MOST = 2000
"""Of more nodes, every second or so on is enough for a mixture."""
_ROUNDS = 60
_STILL = 1e-4
"""Of D, when a round changes it by less, the mixture is found."""
_NEARLY = 0.9
"""A kind that has a tenth of the nodes by the cut may have a little less by the mixture."""


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


class _Kind(NamedTuple):
    """One component of a mixture of two normal distributions."""

    share: float
    mean: float
    variance: float


def split(medians: Sequence[float], kind: Kind) -> TwoKinds | None:
    """The two kinds of nodes, from the median of one figure on each node; None if there is one.

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
    prior = limits.prior(kind) * values[count // 2]
    if not prior > 0:  # most nodes are at 0: their broken GPUs are no kind
        return None
    kinds = _Kind(at / count, *_moments(values[:at], prior)), _Kind(1 - at / count, *_moments(values[at:], prior))
    if _counts(kinds, prior):  # a cut makes the two halves of one kind narrow: let them overlap, and look again
        kinds = _mixture(values, kinds, prior)
    if not _counts(kinds, prior) or not _explains_more(values, kinds):
        return None
    return TwoKinds(ordered[at - 1], (kinds[0].mean, kinds[1].mean), (at, count - at), _distance(kinds))


def _counts(kinds: tuple[_Kind, _Kind], prior: float) -> bool:
    limits = thresholds()
    is_large = min(kinds[0].share, kinds[1].share) >= limits.kinds_share.value * _NEARLY
    return is_large and kinds[1].mean - kinds[0].mean > prior and _distance(kinds) > limits.kinds_distance.value


def _distance(kinds: tuple[_Kind, _Kind]) -> float:
    """Ashman's D."""
    between = kinds[0].variance + kinds[1].variance
    return sqrt(2) * (kinds[1].mean - kinds[0].mean) / sqrt(between) if between else 0.0


def _mixture(values: Sequence[float], kinds: tuple[_Kind, _Kind], prior: float) -> tuple[_Kind, _Kind]:
    """The most likely mixture of two normal distributions, from a first guess (expectation and maximization)."""
    step = -(-len(values) // _MOST)
    some = values[step // 2 :: step]
    weight = thresholds().prior_weight.value * len(some) / len(values)
    for _ in range(_ROUNDS):
        (w1, m1, v1), (w2, m2, v2) = kinds
        if not v1 or not v2:
            break
        lead = log(w1 / w2) + 0.5 * log(v2 / v1)
        part = []
        for value in some:
            odds = lead - (value - m1) ** 2 / (2 * v1) + (value - m2) ** 2 / (2 * v2)
            part.append(1 / (1 + exp(-odds)) if odds > -700 else 0.0)
        low = sum(part)
        high = len(some) - low
        if min(low, high) < 1:
            break
        m1 = sum(p * value for p, value in zip(part, some, strict=True)) / low
        m2 = sum((1 - p) * value for p, value in zip(part, some, strict=True)) / high
        v1 = sum(p * (value - m1) ** 2 for p, value in zip(part, some, strict=True)) + weight * prior * prior
        v2 = sum((1 - p) * (value - m2) ** 2 for p, value in zip(part, some, strict=True)) + weight * prior * prior
        last = kinds
        kinds = (
            _Kind(low / len(some), m1, v1 / (low + weight)),
            _Kind(high / len(some), m2, v2 / (high + weight)),
        )
        if abs(_distance(kinds) - _distance(last)) < _STILL:
            break
    return kinds


def _explains_more(values: Sequence[float], kinds: tuple[_Kind, _Kind]) -> bool:
    """Whether two kinds are likelier than one, by more than three more numbers explain by chance (BIC): of few nodes
    with a wide spread, any sample has gaps."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    one = two = 0.0
    for value in values:
        one += _log_density(value, 1.0, mean, variance)
        first, second = (_log_density(value, *kind) for kind in kinds)
        two += max(first, second) + log1p(exp(-abs(first - second)))
    return 2 * (two - one) > 3 * log(len(values))


def _log_density(value: float, share: float, mean: float, variance: float) -> float:
    return log(share) - 0.5 * log(variance) - (value - mean) ** 2 / (2 * variance)


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


def _moments(values: Sequence[float], prior: float) -> tuple[float, float]:
    """Mean and variance. The variance is shrunk to the prior with the weight of some values, as the spread of a cohort
    is: few values, or rounded ones, are no proof of a narrow kind."""
    weight = thresholds().prior_weight.value
    mean = sum(values) / len(values)
    own = sum((value - mean) ** 2 for value in values)
    return mean, (own + weight * prior * prior) / (len(values) + weight)
