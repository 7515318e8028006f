"""Two kinds of nodes: Ashman's D by an independent formula, its border, and what is one kind."""

from __future__ import annotations

import random
import statistics
from math import sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.two_kinds import split

from ..drawn import drawn
from ..rows import for_each


def two(low: int, high: int, gap: float, spread: float = 1.0) -> list[float]:
    """Node medians of two normal kinds around 100 - gap and 100, without chance: the middles of equal shares."""
    return [
        NormalDist(middle, spread).inv_cdf((number + 0.5) / count)
        for count, middle in ((low, 100 - gap), (high, 100.0))
        for number in range(count)
    ]


def distance(low: list[float], high: list[float], prior: float) -> float:
    """Ashman's D, variances shrunk to the prior with the weight of ten; it is a share of the upper median of all."""
    usual = prior * statistics.median_high(low + high)
    variances = [(len(part) * statistics.pvariance(part) + 10 * usual**2) / (len(part) + 10) for part in (low, high)]
    return sqrt(2) * (statistics.mean(high) - statistics.mean(low)) / sqrt(sum(variances))


def test_two_coolers() -> None:
    values = two(30, 70, 6)
    found = split(values, "matmul")
    assert found is not None
    assert found.sizes == (30, 70)
    assert found.means == (pytest.approx(94, abs=0.02), pytest.approx(100, abs=0.02))
    assert found.distance == pytest.approx(distance(values[:30], values[30:], 0.017), rel=0.02)
    assert max(values[:30]) == found.below


@for_each("gap, is_split", [(3.0, False), (4.0, False), (4.4, False), (4.8, True), (5.5, True), (8.0, True)])
def test_the_border_is_a_distance_of_3_6(gap: float, is_split: bool) -> None:
    values = two(200, 200, gap, 1.25)
    assert (distance(values[:200], values[200:], 0.017) > 3.6) == is_split
    assert (split(values, "matmul") is not None) == is_split


@for_each("low, high, is_split", [(10, 90, True), (9, 91, False), (90, 10, True), (91, 9, False), (4, 36, True)])
def test_each_kind_has_a_tenth_of_the_nodes(low: int, high: int, is_split: bool) -> None:
    assert (split(two(low, high, 10, 0.5), "matmul") is not None) == is_split


@for_each("count, is_split", [(39, False), (40, True)])
def test_forty_nodes_are_needed(count: int, is_split: bool) -> None:
    assert (split(two(20, count - 20, 10), "matmul") is not None) == is_split


def test_rounded_values_and_a_difference_below_the_usual_spread_are_one_kind() -> None:
    assert split([100.0] * 100, "matmul") is None
    assert split([99.9] * 50 + [100.0] * 50, "matmul") is None
    assert split([98.4] * 500 + [100.0] * 500, "matmul") is None, "less than the 1.7 % that one kind has"
    assert split([98.0] * 500 + [100.0] * 500, "matmul") is not None
    assert split([99.0] * 500 + [100.0] * 500, "memory") is not None


def test_most_nodes_at_zero_are_no_kind() -> None:
    assert split([0.0] * 30 + [99.0, 101.0] * 10, "matmul") is None


def test_a_single_broken_node_neither_makes_a_kind_nor_hides_two() -> None:
    one = two(50, 50, 0.01)
    assert split([*one[:-1], 20.0], "matmul") is None
    for nodes in (40, 100):
        values = two(nodes * 3 // 10, nodes * 7 // 10, 6, 0.8)
        found = split([*values[1:], 30.0], "matmul")
        assert found is not None
        assert found.sizes[0] == nodes * 3 // 10


@for_each("nodes, spread", [(40, 1.0), (40, 3.0), (40, 10.0), (60, 5.0), (200, 3.0)])
def test_one_normal_kind_is_cut_in_two_in_less_than_one_fleet_of_a_hundred(nodes: int, spread: float) -> None:
    cut = 0
    for seed in range(400):
        rng = random.Random(seed)
        values = [rng.gauss(100, spread) for _ in range(nodes)]
        cut += split([*values, 20.0] if seed % 2 else values, "matmul") is not None
    assert cut < 4


def test_a_long_even_row_is_one_kind() -> None:
    """Cut in half, it has a distance of 3.46, or less by the prior."""
    assert split([95 + 10 * i / 9999 for i in range(10_000)], "matmul") is None


@drawn(100)
@given(st.lists(st.floats(1, 1e5), min_size=40, max_size=80), st.floats(0.01, 100))
def test_units_do_not_matter_and_order_does_not(values: list[float], factor: float) -> None:
    found, again = split(values, "copy"), split([value * factor for value in reversed(values)], "copy")
    assert (found is None) == (again is None) or abs((found or again).distance - 3.6) < 1e-6  # type: ignore[union-attr]
    if found and again:
        assert found.sizes == again.sizes
        assert sum(found.sizes) == len(values)
        assert sum(value <= found.below for value in values) == found.sizes[0]
