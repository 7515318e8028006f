"""Rates of pairs of nodes, each with the median that it is compared with.

That is its own round's: other rounds were measured over other paths and beside other pairs. A pair without a number is
not measured, and that is never good. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from statistics import median_high
from typing import NamedTuple

from .rounds import ROUNDS, Pair, Switches, across
from .thresholds import thresholds


class LinkRate(NamedTuple):
    """What a pair measured. value: GB/s; None if there is no number, and then `reason` says why."""

    pair: Pair
    value: float | None
    reason: str = ""


class TurnMedian(NamedTuple):
    """A round, or a turn of the fourth: what its rates are compared with; None where nothing was measured."""

    round: int
    turn: int
    pairs: int
    measured: int
    median: float | None


class Rated(NamedTuple):
    """A measured pair against its round."""

    pair: Pair
    value: float
    median: float

    @property
    def share(self) -> float:
        return self.value / self.median

    @property
    def ends(self) -> tuple[str, str]:
        return self.pair.one, self.pair.other

    @property
    def late(self) -> bool:
        return self.pair.round > ROUNDS


def is_rate(value: float | None) -> bool:
    """Whether a link can have this rate."""
    return value is not None and math.isfinite(value) and value > 0


def medians_of(
    rates: Iterable[LinkRate],
    switches: Switches,
    doubtful: Collection[str] = (),
    paths: Collection[tuple[str, str]] = (),
) -> tuple[TurnMedian, ...]:
    """In the fourth round most pairs may be suspect: its median is that of the others, and if there are none the third
    round's."""
    by_turn: dict[tuple[int, int], list[LinkRate]] = {}
    for rate in rates:
        by_turn.setdefault((rate.pair.round, rate.pair.turn), []).append(rate)
    found: list[TurnMedian] = []
    for (number, turn), some in sorted(by_turn.items()):
        measured = [rate for rate in some if is_rate(rate.value)]
        plain = [
            rate
            for rate in measured
            if number <= ROUNDS
            or (rate.pair[2:] not in paths and rate.pair.one not in doubtful and rate.pair.other not in doubtful)
        ]
        plain = [rate for rate in plain if _is_usual(rate.pair, switches)] or plain
        values = [rate.value for rate in plain if rate.value is not None]
        earlier = found[-1].median if found and number > ROUNDS else None
        found.append(TurnMedian(number, turn, len(some), len(measured), median_high(values) if values else earlier))
    return _few_together(found)


def _is_usual(pair: Pair, switches: Switches) -> bool:
    """Whether it is what its round is for: neighbors in the first, distant nodes in the others."""
    return across(pair.one, pair.other, switches) != (pair.round == 1)


def _few_together(turns: Sequence[TurnMedian]) -> tuple[TurnMedian, ...]:
    """Of few pairs half may be slow by chance: then both distant rounds have the higher median of the two."""
    distant = [one for one in turns if 1 < one.round <= ROUNDS]
    highest = max((one.median for one in distant if one.median is not None), default=None)
    few = any(one.measured < thresholds().link_pairs.value for one in distant)
    return tuple(one._replace(median=highest) if few and one in distant else one for one in turns)


def rated_of(rates: Iterable[LinkRate], turns: Iterable[TurnMedian], switches: Switches) -> list[Rated]:
    """A pair that is not what its round is for has the median of the first round that is for such pairs."""
    medians = {(one.round, one.turn): one.median for one in turns}
    found = []
    for rate in rates:
        median = medians[rate.pair.round, rate.pair.turn]
        if switches and not _is_usual(rate.pair, switches):
            median = medians.get((2 if rate.pair.round == 1 else 1, 1)) or median
        if rate.value is not None and median is not None and is_rate(rate.value):
            found.append(Rated(rate.pair, rate.value, median))
    return found


def is_slow(one: Rated) -> bool:
    return one.share < thresholds().link_share.value


def best_of(rated: Iterable[Rated]) -> Rated:
    return max(rated, key=lambda one: one.share)
