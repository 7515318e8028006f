"""What cross-validation says of the ranker's probabilities, and from which one on a cause may be called likely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from doctor.text.ranker import NOTHING
from training.ranker_cases import Example, Frozen, speaks

_BINS = 40
_LEAST = 0.01
"""Share of a cause that is counted."""
OF_ITS_OWN = 10
"""Calls of a cause from which on it has a figure of its own."""
RIGHT = 0.9
"""Share of right calls above the threshold."""


class Ranks(NamedTuple):
    """A case ranked by a model that has not seen its repository."""

    example: Example
    logits: dict[str, float]
    ruled_out: Callable[[str], bool]

    def shares(self, sharpness: float, struck: bool = True) -> dict[str, float]:
        """The share of each cause, the likeliest first; `struck`: without those that the facts rule out."""
        values = np.array(list(self.logits.values())) * sharpness
        powers = np.exp(values - values.max())
        kept = {
            name: float(power)
            for name, power in zip(self.logits, powers, strict=True)
            if not struck or name == NOTHING or not self.ruled_out(name)
        }
        whole = sum(kept.values()) or 1.0
        return {name: kept[name] / whole for name in sorted(kept, key=lambda name: -kept[name])}


def best_sharpness(ranks: Sequence[Ranks]) -> float:
    """The factor of the logits under which the right causes are likeliest."""

    def loss(sharpness: float) -> float:
        chances = []
        for one in ranks:
            shares = one.shares(sharpness, struck=False)
            chances.append(sum(shares.get(name, 0.0) for name in one.example.right))
        return float(-np.log(np.maximum(chances, 1e-6)).sum())

    return round(float(min(np.arange(0.5, 4.0, 0.05), key=loss)), 2)


def calibration(ranks: Sequence[Ranks], sharpness: float) -> list[tuple[float, float]]:
    """(share, how often such a cause is right): equal parts of all causes, made to rise (pool adjacent violators)."""
    pairs = sorted(
        (share, name in one.example.right)
        for one in ranks
        for name, share in one.shares(sharpness).items()
        if share >= _LEAST
    )
    pools: list[tuple[float, float, int]] = []
    for part in np.array_split(np.array(pairs, dtype=float), _BINS):
        pools.append((float(part[:, 0].mean()), float(part[:, 1].mean()), len(part)))
        while len(pools) > 1 and pools[-2][1] >= pools[-1][1]:
            (share_a, right_a, a), (share_b, right_b, b) = pools[-2:]
            pools[-2:] = [((share_a * a + share_b * b) / (a + b), (right_a * a + right_b * b) / (a + b), a + b)]
    knots = [(round(share, 4), round(right, 4)) for share, right, _ in pools]
    return [(0.0, 0.0), *knots, (1.0, knots[-1][1])]


class Threshold(NamedTuple):
    """From which probability on a cause is called likely, and how such calls were."""

    probability: float
    calls: int
    right: int
    silent: int
    """Decidable cases on which the rules, as they were then, were silent."""
    causes: dict[str, tuple[int, int]]
    """Of each cause with enough calls: how many were right, and how many there were."""


def threshold(
    ranks: Sequence[Ranks], frozen: dict[str, Frozen], sharpness: float, probability: Callable[[float], float]
) -> Threshold:
    """The lowest at which enough of the calls in texts on which the rules were silent are right.

    `probability`: of a share, by the calibration.
    """
    silent = [one for one in ranks if one.example.id in frozen and not frozen[one.example.id].first]
    calls = []
    for one in silent:
        first, share = next(iter(one.shares(sharpness).items()))
        if first != NOTHING and speaks(one.example.text):
            calls.append((round(probability(share), 2), first, first in one.example.right))
    best = Threshold(1.0, 0, 0, len(silent), {})
    for least in sorted({value for value, *_ in calls}, reverse=True):
        made = [(first, right) for value, first, right in calls if value >= least]
        right = sum(is_right for _, is_right in made)
        if right >= RIGHT * len(made):
            best = Threshold(least, len(made), right, len(silent), _by_cause(made))
    return best


def _by_cause(made: Sequence[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    found = {name: [is_right for first, is_right in made if first == name] for name in sorted({row[0] for row in made})}
    return {name: (sum(calls), len(calls)) for name, calls in found.items() if len(calls) >= OF_ITS_OWN}
