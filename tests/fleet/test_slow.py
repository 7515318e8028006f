"""Slow GPUs: the formulas worked out by hand, both sides of each limit, and the fleets of benchmarks/slow.py."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from math import erfc, sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.columns import Columns, columns
from doctor.fleet.kinds import Value
from doctor.fleet.slow import WHOLE_NODE, Below, Slowness, judge, kind_of
from doctor.fleet.spread import mad, measure, median
from doctor.fleet.thresholds import Kind, thresholds

from ..drawn import drawn
from ..rows import for_each

ROOT = Path(__file__).parents[2]
SPEEDS = st.lists(st.floats(1, 1e6), min_size=1, max_size=60)


def value(node: int, gpu: int, speed: float, repeat: int = 1) -> Value:
    return Value(node, gpu, "matmul bf16", speed, "TFLOP/s", repeat)


def fleet(nodes: int, low: dict[tuple[int, int], Sequence[float]], gpus: int = 8) -> list[Value]:
    """Nodes whose GPUs run at 100, but for those that are given with all of their measurements."""
    found = []
    for node in range(nodes):
        for gpu in range(gpus):
            speeds = low.get((node, gpu), [100.0])
            found += [value(node, gpu, speed, repeat) for repeat, speed in enumerate(speeds, start=1)]
    return found


def one(values: list[Value], kind: Kind = "matmul") -> Slowness:
    (part,) = judge(values, kind).parts
    return part


def states(part: Slowness) -> list[tuple[str, int, int]]:
    return [(one.state, one.node, one.gpu) for one in part.below]


def test_a_cohort_worked_out_by_hand() -> None:
    """Twelve values: median 100, distances 0 0 .5 .5 1 1 1.5 1.5 2 2 3 3, so MAD 1.25; the lower half's median is
    98.75, so its own scale is 1.25 too: s0 = 1.4826 x 1.25 = 1.85325. The prior of 1.7 with the weight of ten:
    s^2 = (12 x 3.43454 + 10 x 2.89) / 22 = 3.187, s = 1.78521."""
    found = measure([97.0, 98.0, 98.5, 99.0, 99.5, 100.0, 100.0, 100.5, 101.0, 101.5, 102.0, 103.0], "matmul")
    assert found.median == 100
    assert found.spread == pytest.approx(1.78521, abs=1e-4)
    assert found.k == 4
    assert found.limit(0.1) == 90
    assert found.limit(0.05) == pytest.approx(100 - 4 * 1.78521, abs=1e-3)


def test_the_lower_half_counts_where_it_is_wider() -> None:
    """The upper values are all 100: the MAD is 0 where the lower half, with the median in it, has its own median at
    95, so s0 = 1.4826 x 5."""
    found = measure([90.0, 92.0, 94.0, 96.0, 98.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0], "matmul")
    assert found.spread == pytest.approx(sqrt((11 * (1.4826 * 5) ** 2 + 10 * 1.7**2) / 21))


@for_each("kind, prior, floor", [("matmul", 1.7, 10), ("memory", 0.6, 5), ("copy", 2.0, 15)])
def test_each_kind_has_its_prior_and_its_floor(kind: Kind, prior: float, floor: float) -> None:
    """Ten values without any spread: half of the variance is the prior's."""
    found = measure([100.0] * 10, kind)
    assert found.spread == pytest.approx(prior / sqrt(2))
    assert found.limit(thresholds().floor(kind)) == pytest.approx(100 - floor)
    assert measure([100.0] * 100_000, kind).spread == pytest.approx(prior * sqrt(10 / 100_010))


@for_each("number", [1, 8, 64, 631, 632, 8000, 80_000, 800_000])
def test_k_leaves_two_chances_in_a_hundred_in_a_whole_cohort(number: int) -> None:
    """By the complementary error function: the tail beyond k, times n, is 0.02, unless k is 4 already."""
    k = measure([100.0] * number, "matmul").k
    expected = number * 0.5 * erfc(k / sqrt(2))
    assert k >= 4
    assert expected == pytest.approx(0.02, rel=1e-6) if k > 4 else expected < 0.02


def test_k_begins_to_grow_where_the_quantile_passes_four() -> None:
    assert measure([1.0] * 631, "matmul").k == 4
    assert measure([1.0] * 632, "matmul").k > 4


@drawn(300)
@given(SPEEDS)
def test_median_and_mad_are_those_of_the_standard_library(speeds: list[float]) -> None:
    ordered = sorted(speeds)
    middle = statistics.median(ordered)
    assert median(ordered) == middle
    assert mad(ordered, middle) == statistics.median(abs(speed - middle) for speed in ordered)


@drawn(200)
@given(SPEEDS, st.floats(0.01, 100))
def test_units_do_not_matter(speeds: list[float], factor: float) -> None:
    a, b = measure(sorted(speeds), "copy"), measure(sorted(speed * factor for speed in speeds), "copy")
    assert b.median == pytest.approx(a.median * factor)
    assert b.spread == pytest.approx(a.spread * factor, rel=1e-6)


@for_each(
    "kind, speeds, state",
    [
        ("matmul", [89.99] * 3, "slow"),
        ("matmul", [90.0] * 3, "lagging"),
        ("matmul", [94.99] * 3, "lagging"),
        ("matmul", [95.0] * 3, ""),
        ("memory", [94.99] * 3, "slow"),
        ("memory", [95.0] * 3, "lagging"),
        ("memory", [97.5] * 3, ""),
        ("copy", [84.99] * 3, "slow"),
        ("copy", [85.0] * 3, "lagging"),
        ("copy", [92.5] * 3, ""),
        ("matmul", [89.0], "once"),
        ("matmul", [89.0, 89.0], "once"),
        ("matmul", [94.0], "lagging"),
        ("matmul", [60.0, 60.0, 91.0], "once"),
        ("matmul", [60.0, 60.0, 100.0], "once"),
        ("matmul", [60.0, 100.0, 60.0], "once"),
        ("matmul", [100.0, 60.0, 60.0], "once"),
        ("matmul", [100.0, 60.0, 60.0, 60.0], "once"),
        ("matmul", [100.0, 60.0, 60.0, 100.0], ""),
        ("matmul", [60.0, 100.0, 100.0], ""),
        ("matmul", [100.0, 60.0], ""),
        ("matmul", [100.0, 60.0, 94.0], ""),
        ("matmul", [60.0, 70.0, 80.0, 89.0], "slow"),
    ],
)
def test_the_floor_and_three_measurements(kind: Kind, speeds: list[float], state: str) -> None:
    part = one(fleet(100, {(7, 3): speeds}), kind)
    assert states(part) == ([(state, 7, 3)] if state else [])


def test_the_spread_decides_where_it_is_wider_than_the_floor() -> None:
    """Half of the values at 96, half at 104: median 100, s close to 1.4826 x 4, k times that some 24."""
    wide = [value(node, gpu, 96.0 if gpu % 2 else 104.0) for node in range(100) for gpu in range(8)]
    part = one(wide)
    limit = part.slow_below
    assert limit == part.median - part.k * part.spread
    assert 70 < limit < 80
    for speed, state in ((limit * 0.9999, "slow"), (limit * 1.0001, "")):
        more = [value(100, 0, speed, repeat) for repeat in (1, 2, 3)] + [value(100, 1, 104.0)] * 1
        again = one(wide + more)
        assert again.median == pytest.approx(100, abs=5)
        near = again.slow_below * (speed / limit)
        low = [value(100, 0, near, repeat) for repeat in (1, 2, 3)] + [value(100, 1, 104.0)]
        assert [b.state for b in one(wide + low).below] == ([state] if state else [])


def test_a_finding_says_how_far_below_and_how_often() -> None:
    (found,) = one(fleet(20, {(4, 6): [74.0, 75.0, 79.0]})).below
    assert found == Below("slow", 4, 6, 1, 75.0, pytest.approx(-0.25), 3, 3)  # type: ignore[arg-type]


def test_the_smallest_difference_that_can_be_seen() -> None:
    part = one(fleet(100, {}))
    assert part.spread_percent == pytest.approx(1.7 * sqrt(10 / 810))
    assert part.hides_percent == pytest.approx(part.k * part.spread_percent)


@for_each("number, too_few", [(0, True), (1, True), (4, True), (5, False)])
def test_under_five_values_nothing_is_compared(number: int, too_few: bool) -> None:
    values = [value(0, gpu, 100.0 if gpu else 10.0, repeat) for gpu in range(number) for repeat in (1, 2, 3)]
    part = one(values)
    assert (part.too_few, part.values) == (too_few, number)
    assert states(part) == ([] if too_few else [("slow", 0, 0)])


def test_a_slow_node_is_one_line() -> None:
    low = {(3, gpu): [88.0 + gpu / 10] * 3 for gpu in range(8)}
    (found,) = one(fleet(50, low)).below
    assert (found.state, found.node, found.gpu, found.gpus) == ("slow", 3, WHOLE_NODE, 8)
    assert found.value == pytest.approx(88.35)


def test_a_node_is_slow_by_its_median_even_if_single_gpus_are_above_the_floor() -> None:
    low = {(3, gpu): [87.0 + gpu / 2 + (gpu == 7)] * 3 for gpu in range(8)}
    assert low[3, 7][0] > 90
    assert states(one(fleet(50, low))) == [("slow", 3, WHOLE_NODE)]


def test_a_healthy_gpu_on_the_node_speaks_for_the_node() -> None:
    low = {(3, gpu): [85.0] * 3 for gpu in range(7)}
    assert states(one(fleet(50, low))) == [("slow", 3, gpu) for gpu in range(7)]


def test_a_gpu_that_is_far_below_its_slow_node_has_its_own_line() -> None:
    low = {(3, gpu): [88.0] * 3 for gpu in range(8)} | {(3, 5): [60.0] * 3}
    assert sorted(states(one(fleet(50, low)))) == [("slow", 3, WHOLE_NODE), ("slow", 3, 5)]


def test_a_slow_gpu_is_not_hidden_in_a_node_that_lags() -> None:
    low = {(3, gpu): [92.0] * 3 for gpu in range(8)} | {(3, 5): [89.0] * 3}
    assert states(one(fleet(50, low))) == [("slow", 3, 5), ("lagging", 3, WHOLE_NODE)]


def test_a_node_measured_once_looks_slow() -> None:
    low = {(3, gpu): [85.0] for gpu in range(8)}
    assert states(one(fleet(50, low))) == [("once", 3, WHOLE_NODE)]
    low = {(3, gpu): [85.0, 85.0, 85.0] if gpu else [85.0] for gpu in range(8)}
    assert ("slow", 3, WHOLE_NODE) not in states(one(fleet(50, low))), "one of its GPUs was measured once"


def test_one_gpu_per_node_is_a_gpu() -> None:
    assert states(one(fleet(50, {(3, 0): [85.0] * 3}, gpus=1))) == [("slow", 3, 0)]


def test_two_gpus_of_which_one_is_slow_are_no_slow_node() -> None:
    assert states(one(fleet(50, {(3, 0): [70.0] * 3}, gpus=2))) == [("slow", 3, 0)]


def test_the_worst_come_first() -> None:
    low = {(1, 0): [93.0] * 3, (2, 0): [50.0], (3, 0): [80.0] * 3, (4, 0): [70.0] * 3}
    found = states(one(fleet(100, low)))
    assert found == [("slow", 4, 0), ("slow", 3, 0), ("once", 2, 0), ("lagging", 1, 0)]


def test_two_kinds_of_nodes_are_judged_each_by_their_own() -> None:
    rng = random.Random(4)
    values = [value(n, g, (100 if n < 70 else 94) * (1 + rng.gauss(0, 0.01))) for n in range(100) for g in range(8)]
    values += [value(100, 0, 83.0, repeat) for repeat in (1, 2, 3)] + [value(100, gpu, 94.0) for gpu in range(1, 8)]
    found = judge(values, "matmul")
    assert found.kinds is not None
    assert found.slower == frozenset(range(70, 101))
    assert [part.values for part in found.parts] == [248, 560]
    slower, faster = found.parts
    assert states(slower) == [("slow", 100, 0)]
    assert states(faster) == []
    assert found.parts[0].median == pytest.approx(94, abs=0.3)


def test_values_may_come_in_any_order_and_twice() -> None:
    values = fleet(30, {(7, 3): [80.0] * 3})
    shuffled = values.copy()
    random.Random(1).shuffle(shuffled)
    assert judge(shuffled, "matmul") == judge(values, "matmul") == judge(iter(values), "matmul")
    assert judge(columns(values), "matmul") == judge(values, "matmul")
    assert one([value(0, 0, 1.0), *fleet(30, {})]).below == (), "the later one counts"


@for_each("first, second", [(float("nan"), float("inf")), (-1.0, 1e300), (float("-inf"), -0.001)])
def test_what_is_no_speed_is_no_value(first: float, second: float) -> None:
    odd = [value(0, 0, first), value(1, 0, second), value(2, 0, first, 2)]
    without = [v for v in fleet(30, {}) if (v.node, v.gpu) not in ((0, 0), (1, 0))]
    assert one([*without, *odd]) == one(without)
    assert one([*without, *odd]).values == 238


def test_a_gpu_at_zero_is_no_measurement() -> None:
    assert states(one(fleet(30, {(7, 3): [0.0] * 3}))) == []


@for_each("speeds", [[0.0] * 50, [0.0] * 30 + [100.0] * 20, [0.0] * 20 + [1e15] * 30, [5e-324] * 30 + [1.0] * 20])
def test_strange_speeds_are_judged_without_an_error(speeds: list[float]) -> None:
    for kind in ("matmul", "memory", "copy"):
        assert judge([value(node, 0, speed) for node, speed in enumerate(speeds)], kind).parts


def test_columns_can_be_filled_by_node() -> None:
    rows = Columns()
    for node in range(30):
        rows.add(node, range(8), [100.0] * 7 + [80.0 if node == 7 else 100.0])
    rows.later[7, 7] = {2: 80.0, 3: 80.0}
    assert states(judge(rows, "matmul").parts[0]) == [("slow", 7, 7)]


@drawn(60)
@given(st.integers(0, 10_000), st.integers(5, 60), st.sampled_from(["matmul", "memory", "copy"]))
def test_who_is_slow_is_below_both_limits_in_each_measurement(seed: int, nodes: int, kind: Kind) -> None:
    rng = random.Random(seed)
    values = [value(n, g, 100 * (1 - 0.03 * rng.expovariate(1)), r)
              for n in range(nodes) for g in range(4) for r in (1, 2, 3)]  # fmt: skip
    found = judge(values, kind)
    measured: dict[tuple[int, int], list[float]] = {}
    for v in values:
        measured.setdefault((v.node, v.gpu), []).append(v.value)
    for part in found.parts:
        for below in part.below:
            if below.state == "slow" and below.gpu != WHOLE_NODE:
                assert max(measured[below.node, below.gpu]) < part.slow_below
                assert part.slow_below <= part.median * (1 - thresholds().floor(kind))
    named = {(b.node, b.gpu) for part in found.parts for b in part.below if b.state == "slow"}
    if found.kinds is None:
        (part,) = found.parts
        slow = {key for key, speeds in measured.items() if max(speeds) < part.slow_below}
        assert all(key in named or (key[0], WHOLE_NODE) in named for key in slow)


@for_each(
    "figure, kind",
    [
        ("matmul bf16", "matmul"),
        ("memory triad", "memory"),
        ("copy h2d-pinned", "copy"),
        ("copy d2h-pinned", "copy"),
        ("copy h2d-pageable", None),
        ("copy h2d-far", None),
        ("launch eager", None),
        ("operation softmax", None),
        ("", None),
    ],
)
def test_figures_that_say_something_of_a_gpu(figure: str, kind: str | None) -> None:
    assert kind_of(figure) == kind


def simulated(*options: str) -> dict[tuple[str, str], list[str]]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/slow.py"), *options], capture_output=True, text=True, check=True
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    return {(row[0], row[1]): row[2:] for row in rows}


def test_the_simulation_of_small_fleets_meets_the_goals() -> None:
    rows = simulated("--fleets", "1", "--nodes", "64", "--worlds", "even", "two kinds", "disturbed", "--seed", "5")
    for world in ("even", "two kinds", "disturbed"):
        fleets, false, _, found, *_ = rows[world, "64"]
        assert fleets == "10"
        assert float(false) <= 0.2
        assert float(found.removesuffix(" %")) >= 95


@pytest.mark.slow
def test_the_simulation_meets_the_goals() -> None:
    rows = simulated("--fleets", "6", "--nodes", "1000", "--worlds", "two kinds", "disturbed", "--seed", "7")
    false, found = (rows["disturbed", "1,000"][at] for at in (1, 3))
    assert float(false) <= 0.5
    assert float(found.removesuffix(" %")) >= 95
    assert float(rows["two kinds", "1,000"][1]) <= 0.2


def later(node: int, low: dict[int, list[float]], first: float | None = None) -> list[Value]:
    """A node of 8 GPUs whose repeats 2 and on are these; its first measurement is missing, or the same for all GPUs."""
    found = [] if first is None else [value(node, gpu, first) for gpu in range(8)]
    for gpu in range(8):
        found += [value(node, gpu, speed, repeat) for repeat, speed in enumerate(low.get(gpu, [100.0] * 3), start=2)]
    return found


MISSED: dict[str, tuple[list[Value], list[tuple[str, int, int]]]] = {
    "two repeats of one GPU, no first": (later(99, {3: [75.0, 75.0], 4: [100.0, 75.0]}), [("once", 99, 3)]),
    "three repeats of one GPU, no first": (later(99, {3: [75.0] * 3}), [("slow", 99, 3)]),
    "two of three repeats, no first": (later(99, {3: [75.0, 100.0, 75.0]}), [("once", 99, 3)]),
    "all GPUs, two of three": (later(99, {gpu: [75.0, 75.0] for gpu in range(8)}, 100.0), [("once", 99, WHOLE_NODE)]),
    "all GPUs, no first": (later(99, {gpu: [75.0] * 3 for gpu in range(8)}), [("slow", 99, WHOLE_NODE)]),
    "all GPUs, one of three": (later(99, {gpu: [75.0, 100.0] for gpu in range(8)}, 100.0), []),
    "a first of one GPU alone": ([value(99, 3, 75.0), *later(99, {3: [75.0, 75.0]})], [("slow", 99, 3)]),
}


@for_each("what", MISSED)
def test_what_is_slow_in_most_measurements_is_seen_and_not_proven(what: str) -> None:
    """Slow is what is slow in each of three; a first measurement that is normal or missing hides nothing."""
    values, expected = MISSED[what]
    part = one(fleet(50, {}) + values)
    assert states(part) == expected
    for below in part.below:
        assert (below.state == "slow") == (below.low == below.measured >= 3)
