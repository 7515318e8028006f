"""Where the values of a figure stand among all numbers of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

_MOST = 1 << 20
"""Numbers of one node."""


class Figure(NamedTuple):
    """A figure in a list of slots. pick: its values by GPU, out of all numbers."""

    name: str
    unit: str
    own: bool
    pick: Callable[[Sequence[float | None]], Sequence[float | None]]


def picker(of_gpu: Mapping[int, int]) -> Callable[[Sequence[float | None]], Sequence[float | None]]:
    """of_gpu: GPU to the place of its number. What it gives raises IndexError where a row is shorter. Raises ValueError
    for places that are none."""
    if not all(isinstance(n, int) and 0 <= n < _MOST for n in (*of_gpu, *of_gpu.values())):
        raise ValueError("a figure has no position")
    positions = [of_gpu.get(gpu) for gpu in range(max(of_gpu) + 1)]
    if None not in positions and len(positions) > 1:
        return itemgetter(*positions)
    return lambda numbers: [None if position is None else numbers[position] for position in positions]
