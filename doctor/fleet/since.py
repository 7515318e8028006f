"""What changed between two looks at the same machines: failures, cures, facts, and what is slow again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from .facts import compared
from .odd import is_equal, without_repeats
from .slow import WHOLE_NODE, kind_of


class SlowOne(NamedTuple):
    """A GPU, or a whole node (-1), that was slow in a figure."""

    node: str
    gpu: int
    figure: str


class Summary(NamedTuple):
    """What of a fleet, or of one machine, is compared with another look."""

    answered: frozenset[str]
    failing: Mapping[str, frozenset[str]] = {}
    """Node to the ids of the findings that fail there."""
    unknown: Mapping[str, frozenset[str]] = {}
    """Node to the ids of the checks that could not be decided there."""
    slow: frozenset[SlowOne] = frozenset()
    facts: Mapping[str, Mapping[str, str]] = {}
    """Path to the value on each node where it is known. One path is read at a time: a Mapping may fetch it then."""


class Change(NamedTuple):
    """A fact that has another value now, on some nodes the same two."""

    path: str
    before: str
    after: str
    nodes: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Facts that follow from it and changed on these nodes too."""


class Since(NamedTuple):
    """All of it, nodes by name."""

    failed: dict[str, tuple[str, ...]]
    """Check id to the nodes on which it fails now and did not then."""
    cured: dict[str, tuple[str, ...]]
    """Check id to the nodes on which it failed then and was decided now."""
    changed: tuple[Change, ...]
    """The most nodes first."""
    slow_again: tuple[SlowOne, ...]
    gone: tuple[str, ...]
    """Nodes that answered then and not now: they are not cured."""
    new: tuple[str, ...]


def changes(old: Summary, new: Summary) -> Since:
    """What is different in `new`."""
    both = old.answered & new.answered
    failed: dict[str, list[str]] = {}
    cured: dict[str, list[str]] = {}
    for node in sorted(new.answered):
        for id in new.failing.get(node, frozenset()) - old.failing.get(node, frozenset()):
            failed.setdefault(id, []).append(node)
    for node in sorted(both):
        open_ = new.failing.get(node, frozenset()) | new.unknown.get(node, frozenset())
        for id in old.failing.get(node, frozenset()) - open_:
            cured.setdefault(id, []).append(node)
    return Since(
        _by_number(failed),
        _by_number(cured),
        _changed(old, new, both),
        tuple(sorted(one for one in new.slow if was_slow(old.slow, one))),
        tuple(sorted(old.answered - new.answered)),
        tuple(sorted(new.answered - old.answered)),
    )


def was_slow(before: Collection[SlowOne], one: SlowOne) -> bool:
    """Whether it was slow then too, in any figure of that kind; a GPU of a slow node was."""
    kind = kind_of(one.figure) or one.figure
    return any(
        other.node == one.node
        and (other.gpu == one.gpu or WHOLE_NODE in (other.gpu, one.gpu))
        and (kind_of(other.figure) or other.figure) == kind
        for other in before
    )


def _by_number(found: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {id: tuple(nodes) for id, nodes in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))}


def _changed(old: Summary, new: Summary, both: frozenset[str]) -> tuple[Change, ...]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for path in sorted(set(old.facts) & set(new.facts)):
        row = compared(path)
        if row is None:
            continue
        before, after = old.facts[path], new.facts[path]
        for node in sorted(both & before.keys() & after.keys()):
            if not is_equal(before[node], after[node], row.size):
                found.setdefault((path, before[node], after[node]), []).append(node)
    lines = without_repeats((path, frozenset(nodes)) for (path, _, _), nodes in found.items())
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Change(*key, tuple(nodes), lines[key[0]]) for key, nodes in ranked if key[0] in lines)
