"""Odd facts, splits and unknown facts of a fleet's database, as its report has them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from . import odd
from .facts import compared, label
from .kinds import MIXED, Cohort, Node
from .report import OddFact, Split, UnknownOn
from .store.read import Store

GPUS = "gpus"
"""Path of the fact how many GPUs a node has."""


class OddFacts(NamedTuple):
    """Of all cohorts. nodes: id of each odd node to the labels of its facts."""

    odd: tuple[OddFact, ...]
    on_failing: tuple[OddFact, ...]
    python: tuple[OddFact, ...]
    splits: tuple[Split, ...]
    unknown: tuple[UnknownOn, ...]
    nodes: dict[int, list[str]]


class _Found(NamedTuple):
    """An odd value or an unread fact with the nodes that have it."""

    path: str
    about: odd.Odd | None
    nodes: dict[int, tuple[int, ...]]
    """Id to GPUs, empty if the fact is the node's."""


def odd_facts(
    store: Store,
    cohorts: Mapping[Cohort, str],
    sizes: Mapping[Cohort, int],
    names: Mapping[int, str],
    failing: Collection[int],
) -> OddFacts:
    """cohorts: with their names; names: of the nodes by id; failing: ids of nodes that fail."""
    found = OddFacts((), (), (), (), (), {})
    counted = _counts(store.nodes(), sizes)
    for cohort, name in cohorts.items():
        values: list[_Found] = []
        unread: list[_Found] = []
        splits: list[odd.Split] = []
        for count in store.value_counts(cohort):
            for one in odd.judge(count.path, count.counts, count.unknown, sizes[cohort]):
                if isinstance(one, odd.Split):
                    splits.append(one)
                elif isinstance(one, odd.Odd):
                    have: dict[int, tuple[int, ...]] = {}
                    for value in one.values:
                        for node in store.nodes_with(one.path, value, cohort):
                            have[node.node] = tuple(sorted({*have.get(node.node, ()), *node.gpus}))
                    others = one.usual_nodes - _with_both(store, one, cohort, have)
                    if others > 0:  # a node is not odd against itself
                        values.append(_Found(one.path, one._replace(usual_nodes=others), have))
                else:
                    lost = {node.node: node.gpus for node in store.nodes_without(one.path, cohort)}
                    unread.append(_Found(one.path, None, lost))
        values += counted.get(cohort, ())
        part = _part(name, cohort, values, names, failing)
        for number, labels in part.nodes.items():
            found.nodes.setdefault(number, []).extend(labels)
        found = found._replace(
            odd=(*found.odd, *part.odd),
            on_failing=(*found.on_failing, *part.on_failing),
            python=(*found.python, *part.python),
            splits=(*found.splits, *_splits(name, splits)),
            unknown=(*found.unknown, *_unknown(name, unread, names, failing)),
        )
    return found


def _with_both(store: Store, one: odd.Odd, cohort: Cohort, have: Mapping[int, tuple[int, ...]]) -> int:
    """How many nodes with an odd value have the usual one too, on other GPUs."""
    if not any(have.values()):
        return 0
    return sum(node.node in have for node in store.nodes_with(one.path, one.usual, cohort, have))


def _counts(nodes: Iterable[Node], sizes: Mapping[Cohort, int]) -> dict[Cohort, list[_Found]]:
    """Large cohort to the few nodes that differ from it in nothing but the count of GPUs: one fell off there."""
    kinds: dict[tuple[str, int, str], dict[str, int]] = {}
    for one, number in sizes.items():
        if one.count and one.model != MIXED:
            kinds.setdefault((one.model, one.memory_gib, one.arch), {})[str(one.count)] = number
    found: dict[Cohort, list[_Found]] = {}
    for (model, memory, arch), counts in kinds.items():
        for odd_one in odd.judge(GPUS, counts, 0, sum(counts.values())) if len(counts) > 1 else ():
            if isinstance(odd_one, odd.Odd):
                small = Cohort(model, int(odd_one.value), memory, arch)
                have: dict[int, tuple[int, ...]] = {node.id: () for node in nodes if node.cohort == small}
                large = small._replace(count=int(odd_one.usual))
                found.setdefault(large, []).append(_Found(GPUS, odd_one, have))
    return found


def _part(
    cohort: str, about: Cohort, values: list[_Found], names: Mapping[int, str], failing: Collection[int]
) -> OddFacts:
    """The odd facts of one cohort: what follows from another fact stands in that one's line."""
    lines = odd.without_repeats((one.path, frozenset(one.nodes)) for one in values)
    rows: tuple[list[OddFact], list[OddFact], list[OddFact]] = ([], [], [])
    nodes: dict[int, list[str]] = {}
    for one in sorted(values, key=lambda each: (-len(each.nodes), each.path)):
        if one.path not in lines or one.about is None:
            continue
        row = compared(one.path)
        users = bool(row and row.users)
        sound = {node: gpus for node, gpus in one.nodes.items() if node not in failing}
        for kept, kind in ((sound, 2 if users else 0), ({n: g for n, g in one.nodes.items() if n in failing}, 1)):
            if not kept or (kind == 1 and users):
                continue
            rows[kind].append(_odd(cohort, about, one.about, kept, names, lines[one.path], row.unit if row else ""))
            if kind == 0:
                for node in kept:
                    nodes.setdefault(node, []).append(label(one.path))
    return OddFacts(tuple(rows[0]), tuple(rows[1]), tuple(rows[2]), (), (), nodes)


def _odd(
    cohort: str, about: Cohort, one: odd.Odd, nodes: dict[int, tuple[int, ...]], names: Mapping[int, str],
    also: tuple[str, ...], unit: str,
) -> OddFact:  # fmt: skip
    some = {names[node]: gpus for node, gpus in nodes.items() if gpus and len(gpus) < about.count}
    return OddFact(
        cohort=cohort,
        fact=one.path,
        label=label(one.path),
        value=one.value,
        usual=one.usual,
        unit=unit,
        usual_nodes=one.usual_nodes,
        nodes=_named(nodes, names),
        gpus=dict(sorted(some.items())),
        also=also,
    )


def _splits(cohort: str, found: list[odd.Split]) -> tuple[Split, ...]:
    lines = odd.without_repeats((one.path, frozenset[int]()) for one in found)
    rows = []
    for one in found:
        row = compared(one.path)
        if one.path in lines and row and not row.users:
            about = Split(cohort=cohort, fact=one.path, label=label(one.path), values=dict(one.values), unit=row.unit,
                          also=lines[one.path])  # fmt: skip
            rows.append(about)
    return tuple(rows)


def _unknown(
    cohort: str, found: list[_Found], names: Mapping[int, str], failing: Collection[int]
) -> tuple[UnknownOn, ...]:
    """Of nodes that do not fail: a failure explains what could not be read there."""
    lines = odd.without_repeats((one.path, frozenset(one.nodes)) for one in found)
    rows = []
    for one in found:
        row = compared(one.path)
        nodes = [node for node in one.nodes if node not in failing]
        if nodes and one.path in lines and row and not row.users:
            about = UnknownOn(cohort=cohort, fact=one.path, label=label(one.path), nodes=_named(nodes, names))
            rows.append(about)
    return tuple(rows)


def _named(nodes: Collection[int], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(sorted(names[node] for node in nodes))
