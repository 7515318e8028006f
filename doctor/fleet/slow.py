"""Which GPUs and nodes are slow for their kind: far below the median of their cohort in each of three measurements."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from .columns import Columns, columns
from .kinds import Value
from .spread import Measure, measure, median
from .thresholds import Kind, thresholds
from .two_kinds import TwoKinds, split

WHOLE_NODE = -1
State: TypeAlias = Literal["slow", "once", "lagging"]
"""once: below the limit of slow ones in all measurements, of which there are fewer than three, or in most of them, two
at least."""
STATES: tuple[State, ...] = get_args(State)


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
    low: int
    """In how many of these it was below the limit for the state that it has."""


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


def kind_of(figure: str) -> Kind | None:
    """What a figure is judged as (`matmul bf16`: matmul); None for those that say nothing of a GPU alone, such as
    copies of pageable memory or to the farthest NUMA node."""
    kind, _, what = figure.partition(" ")
    if kind == "copy":
        return "copy" if what.endswith("-pinned") else None
    return "matmul" if kind == "matmul" else "memory" if kind == "memory" else None


def judge(values: Iterable[Value] | Columns, kind: Kind) -> Speed:
    """All values of one figure, of GPUs that are alike (`cohorts.Alike`), with all repeats. They may come from an
    iterator, or in columns: 8 GPUs on 100,000 nodes take some 40 MiB here."""
    all_values = values if isinstance(values, Columns) else columns(values)
    medians = all_values.medians()
    kinds = split(medians, kind)
    if kinds is None:
        return Speed((_judged(all_values, medians, kind, _only_again(all_values)),))
    slower = frozenset(node for node, middle in zip(all_values.nodes, medians, strict=True) if middle <= kinds.below)
    both = all_values.only(slower.__contains__), all_values.only(lambda node: node not in slower)
    # Which kind a node without a first measurement is of is not known: by the slower one it is not called slow in vain.
    found = [_judged(one, one.medians(), kind, () if at else _only_again(all_values)) for at, one in enumerate(both)]
    return Speed(tuple(found), kinds, slower)


def _only_again(values: Columns) -> list[int]:
    """Nodes whose first measurement is missing."""
    return sorted({node for node, _ in values.later}.difference(values.nodes)) if values.later else []


def _judged(values: Columns, medians: list[float], kind: Kind, others: Sequence[int]) -> Slowness:
    """others: nodes that have repeated measurements alone."""
    limits = thresholds()
    ordered = sorted(values.values)
    if len(ordered) < limits.least_values.value:
        return Slowness(len(ordered), median(ordered) if ordered else 0.0, 0.0, 0.0, 0.0, 0.0, (), too_few=True)
    own = measure(ordered, kind)
    of_nodes = measure(sorted(medians), kind) if len(medians) >= limits.least_values.value else own
    floor = limits.floor(kind)
    near = own.median * (1 - floor * limits.lagging_share.value)
    low = {bisect_right(values.starts, at) - 1 for at, value in enumerate(values.values) if value < near}
    again: dict[int, dict[int, dict[int, float]]] = {}
    for (node, gpu), speeds in values.later.items():
        again.setdefault(node, {})[gpu] = speeds
    low.update(at for at, node in enumerate(values.nodes) if node in again)
    found: list[Below] = []
    for at in sorted(low):
        node = values.nodes[at]
        found += _of_node(node, *values.of(at), again.get(node, {}), own, of_nodes, kind)
    for node in others:
        found += _of_node(node, (), (), again[node], own, of_nodes, kind)
    found.sort(key=lambda one: (STATES.index(one.state), one.change, one.node, one.gpu))
    lagging = own.limit(floor * limits.lagging_share.value)
    return Slowness(own.number, own.median, own.spread, own.k, own.limit(floor), lagging, tuple(found))


def _of_node(
    node: int,
    gpus: Sequence[int],
    values: Sequence[float],
    again: Mapping[int, Mapping[int, float]],
    own: Measure,
    of_nodes: Measure,
    kind: Kind,
) -> list[Below]:
    """gpus, values: of the first measurement; again: of the repeats, by GPU and number."""
    floor, share = thresholds().floor(kind), thresholds().lagging_share.value
    near = own.median * (1 - floor * share)
    measured: dict[int, list[float]] = {gpu: [value] for gpu, value in zip(gpus, values, strict=True)}
    candidates = {gpu for gpu, (value,) in measured.items() if value < near} | again.keys()
    for gpu, speeds in again.items():
        measured.setdefault(gpu, []).extend(speeds.values())
    each = {gpu: _below(node, gpu, 1, measured[gpu], own, floor) for gpu in sorted(candidates)}
    low = [gpu for gpu, one in each.items() if one or measured[gpu][0] < near]
    alone = [one for one in each.values() if one]
    if len(measured) < 2 or len(low) < len(measured):
        return alone
    first = [median(sorted(values))] if values else []
    together = [*first, *_together([again.get(gpu, {}) for gpu in measured])]
    whole = _below(node, WHOLE_NODE, len(measured), together, of_nodes, floor)
    if len(alone) == len(measured) and len({one.state for one in alone}) == 1:
        whole = _worse(whole, _below(node, WHOLE_NODE, len(measured), together, own, floor))
    if whole is None:
        return alone
    # In such a node, a GPU has a line of its own only where it is worse than the node: slow in a node that lags, or far
    # below the node's others.
    rank, far = STATES.index(whole.state), whole.value * (1 - floor)
    worse = [one for one in alone if STATES.index(one.state) < rank or (one.state != "lagging" and one.value < far)]
    return [whole, *worse]


def _worse(a: Below | None, b: Below | None) -> Below | None:
    return min((one for one in (a, b) if one), key=lambda one: STATES.index(one.state), default=None)


def _below(node: int, gpu: int, gpus: int, measured: list[float], by: Measure, floor: float) -> Below | None:
    limits = thresholds()
    if not measured:
        return None
    highest, low = max(measured), sum(one < by.limit(floor) for one in measured)
    if low == len(measured):
        state: State = "slow" if low >= limits.repeats.value else "once"
    elif low >= _MOST and 2 * low > len(measured):
        state = "once"
    elif highest < by.limit(floor * limits.lagging_share.value):
        state, low = "lagging", len(measured)
    else:
        return None
    value = median(sorted(measured))
    return Below(state, node, gpu, gpus, value, value / by.median - 1, len(measured), low)


_MOST = 2
"""Slow measurements beside one that is not: a single one may have been disturbed."""


def _together(of_gpus: Sequence[Mapping[int, float]]) -> list[float]:
    """The median of a node's GPUs in each repeat that all of them have."""
    repeats = set.intersection(*(set(one) for one in of_gpus)) if of_gpus else set()
    return [median(sorted(one[repeat] for one in of_gpus)) for repeat in sorted(repeats)]
