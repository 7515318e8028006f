"""Which GPUs and nodes are slow for their kind: far below the median of their cohort in each of three measurements."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from math import isfinite, sqrt
from operator import itemgetter
from statistics import NormalDist
from typing import Literal, NamedTuple

from .kinds import Value
from .thresholds import Kind, thresholds
from .two_kinds import TwoKinds, split

WHOLE_NODE = -1
_NORMAL = 1.4826
"""The MAD of a normal distribution times this is its standard deviation."""

State = Literal["slow", "once", "lagging"]
"""once: below the limit of slow ones in all measurements, of which there are fewer than three."""


class Below(NamedTuple):
    """A GPU, or a whole node, below the limit for lagging or slow ones."""

    state: State
    node: int
    gpu: int
    """-1: all GPUs of the node, in one line."""
    gpus: int
    """How many they are; 1 for a GPU."""
    value: float
    """Median of its measurements."""
    change: float
    """Against the cohort's median, as a share: -0.25."""
    measured: int


class Slowness(NamedTuple):
    """What the values of one kind say. Limits and spread are in the figure's own unit."""

    values: int
    median: float
    spread: float
    k: float
    slow_below: float
    lagging_below: float
    below: tuple[Below, ...]
    """Slow ones first, then what looks slow, then what lags; the furthest below first."""
    too_few: bool = False
    """Too few values to compare: nothing is said of them."""

    @property
    def spread_percent(self) -> float:
        return 100 * self.spread / self.median if self.median else 0.0

    @property
    def hides_percent(self) -> float:
        """The smallest difference that this spread can show: a smaller one is chance."""
        return self.k * self.spread_percent


class Speed(NamedTuple):
    """One figure of GPUs of one cohort, power limit and link."""

    parts: tuple[Slowness, ...]
    """One, or that of the slower and that of the faster kind."""
    kinds: TwoKinds | None = None
    slower: frozenset[int] = frozenset()
    """Nodes of the slower kind."""


class Measure(NamedTuple):
    """Median, spread and the normal quantile that a set of values is judged by."""

    count: int
    median: float
    spread: float
    k: float

    def limit(self, floor: float) -> float:
        """Below it, a value is neither chance nor a difference that does not matter."""
        return min(self.median - self.k * self.spread, self.median * (1 - floor))


def kind_of(figure: str) -> Kind | None:
    """What a figure is judged as (`matmul bf16`: matmul); None for those that say nothing of a GPU alone, such as
    copies of pageable memory or to the farthest NUMA node."""
    kind, _, what = figure.partition(" ")
    if kind == "copy":
        return "copy" if what.endswith("-pinned") else None
    return "matmul" if kind == "matmul" else "memory" if kind == "memory" else None


def judge(values: Iterable[Value], kind: Kind) -> Speed:
    """All values of one figure, of GPUs that are alike (`cohorts.Alike`), with all repeats. They may come from an
    iterator: 8 GPUs on 100,000 nodes take some 30 MB here."""
    first, again = _Table(), _Table()
    for one in values:
        if isfinite(one.value):
            (first if one.repeat <= 1 else again).add(one)
    first.sort()
    medians = [_median(sorted(of_node)) for _, _, of_node in first.nodes()]
    kinds = split(medians, kind)
    if kinds is None:
        return Speed((_judged(first, again, kind, lambda node: True),))
    slower = frozenset(
        node for (node, _, _), median in zip(first.nodes(), medians, strict=True) if median <= kinds.below
    )
    parts = (
        _judged(first, again, kind, lambda node: node in slower),
        _judged(first, again, kind, lambda node: node not in slower),
    )
    return Speed(parts, kinds, slower)


def measure(ordered: Sequence[float], kind: Kind) -> Measure:
    """m, s and k of values in ascending order, one at least.

    s is the larger of 1.4826 MAD and the same of the lower half alone, as variances shrunk to the kind's prior, which
    has the weight of 10 values.
    """
    limits = thresholds()
    count, middle = len(ordered), _median(ordered)
    raw = _NORMAL * _mad(ordered, middle)
    if count > 1:
        raw = max(raw, _NORMAL * (middle - _median(ordered[: count // 2])))
    weight, prior = limits.prior_weight.value, limits.prior(kind) * abs(middle)
    spread = sqrt((count * raw * raw + weight * prior * prior) / (count + weight))
    k = max(limits.least_k.value, -NormalDist().inv_cdf(limits.chance.value / count))
    return Measure(count, middle, spread, k)


class _Table:
    """Values in three columns."""

    def __init__(self) -> None:
        self.node, self.gpu, self.value, self.repeat = array("q"), array("i"), array("d"), array("h")

    def add(self, one: Value) -> None:
        self.node.append(one.node)
        self.gpu.append(one.gpu)
        self.value.append(one.value)
        self.repeat.append(min(one.repeat, 999))

    def sort(self) -> None:
        """By node."""
        if all(a <= b for a, b in zip(self.node, self.node[1:], strict=False)):
            return
        order = sorted(range(len(self.node)), key=self.node.__getitem__)
        self.node = array("q", map(self.node.__getitem__, order))
        self.gpu = array("i", map(self.gpu.__getitem__, order))
        self.value = array("d", map(self.value.__getitem__, order))

    def nodes(self) -> Iterator[tuple[int, list[int], list[float]]]:
        """Each node with its GPUs and their values."""
        rows = zip(self.node, self.gpu, self.value, strict=True)
        for node, of_node in groupby(rows, key=itemgetter(0)):
            several = list(of_node)
            yield node, [row[1] for row in several], [row[2] for row in several]


def _judged(first: _Table, again: _Table, kind: Kind, is_in: Callable[[int], bool]) -> Slowness:
    limits = thresholds()
    ordered = sorted(value for node, value in zip(first.node, first.value, strict=True) if is_in(node))
    if len(ordered) < limits.least_values.value:
        return Slowness(len(ordered), _median(ordered) if ordered else 0.0, 0.0, 0.0, 0.0, 0.0, (), too_few=True)
    own = measure(ordered, kind)
    medians = sorted(_median(sorted(values)) for node, _, values in first.nodes() if is_in(node))
    of_nodes = measure(medians, kind) if len(medians) >= limits.least_values.value else own
    later = _later(again)
    found: list[Below] = []
    for node, gpus, values in first.nodes():
        if is_in(node):
            found += _of_node(node, gpus, values, later, own, of_nodes, kind)
    found.sort(key=lambda one: (("slow", "once", "lagging").index(one.state), one.change, one.node, one.gpu))
    floor = limits.floor(kind)
    lagging = own.limit(floor * limits.lagging_share.value)
    return Slowness(own.count, own.median, own.spread, own.k, own.limit(floor), lagging, tuple(found))


def _of_node(
    node: int,
    gpus: list[int],
    values: list[float],
    later: dict[tuple[int, int], dict[int, float]],
    own: Measure,
    of_nodes: Measure,
    kind: Kind,
) -> list[Below]:
    floor, share = thresholds().floor(kind), thresholds().lagging_share.value
    whole = None
    if len(values) > 1 and all(value < own.median * (1 - floor * share) for value in values):
        repeats = _together([later.get((node, gpu), {}) for gpu in gpus])
        whole = _below(node, WHOLE_NODE, len(values), [_median(sorted(values)), *repeats], of_nodes, floor)
    found = [whole] if whole else []
    for gpu, value in zip(gpus, values, strict=True):
        if value >= own.median * (1 - floor * share):
            continue
        alone = _below(node, gpu, 1, [value, *later.get((node, gpu), {}).values()], own, floor)
        # In a slow node, a GPU gets a line of its own only where it is far below the node's others.
        if alone and (whole is None or (alone.state != "lagging" and alone.value < whole.value * (1 - floor))):
            found.append(alone)
    return found


def _below(node: int, gpu: int, gpus: int, measured: list[float], by: Measure, floor: float) -> Below | None:
    limits = thresholds()
    highest = max(measured)
    if highest < by.limit(floor):
        state: State = "slow" if len(measured) >= limits.repeats.value else "once"
    elif highest < by.limit(floor * limits.lagging_share.value):
        state = "lagging"
    else:
        return None
    value = _median(sorted(measured))
    return Below(state, node, gpu, gpus, value, value / by.median - 1, len(measured))


def _later(again: _Table) -> dict[tuple[int, int], dict[int, float]]:
    """(node, GPU) to its later values by repeat."""
    found: dict[tuple[int, int], dict[int, float]] = {}
    for node, gpu, repeat, value in zip(again.node, again.gpu, again.repeat, again.value, strict=True):
        found.setdefault((node, gpu), {})[repeat] = value
    return found


def _together(of_gpus: list[dict[int, float]]) -> list[float]:
    """The median of a node's GPUs in each repeat that all of them have."""
    repeats = set.intersection(*(set(one) for one in of_gpus)) if of_gpus else set()
    return [_median(sorted(one[repeat] for one in of_gpus)) for repeat in sorted(repeats)]


def _median(ordered: Sequence[float]) -> float:
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _mad(ordered: Sequence[float], middle: float) -> float:
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
