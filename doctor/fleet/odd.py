"""Which values of a fact are odd in a cohort: on few nodes, where nearly all others have another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from .facts import compared
from .thresholds import thresholds


class Odd(NamedTuple):
    """A value on few nodes."""

    path: str
    value: str
    nodes: int
    """How many have it."""
    usual: str
    usual_nodes: int
    values: tuple[str, ...]
    """The spellings of `value` that count as equal: memory sizes within 1 %."""


class Split(NamedTuple):
    """Several values on many nodes each, none of them odd: the most frequent first."""

    path: str
    values: tuple[tuple[str, int], ...]


class Unread(NamedTuple):
    """A fact that few nodes could not read and nearly all others could: unknown there, never odd."""

    path: str
    nodes: int
    known: int


Judged: TypeAlias = "Odd | Split | Unread"


def judge(path: str, counts: Mapping[str, int], unknown: int, size: int) -> tuple[Judged, ...]:
    """What there is to report about one fact of a cohort; empty if all nodes agree.

    counts: value to the nodes that have it, on any of their GPUs where it is a GPU's. unknown: nodes that could not
    read it. size: nodes of the cohort; those whose value is not known count in it, so they make nothing odd.
    """
    row = compared(path)
    if row is None or size < 1:
        return ()
    groups = _groups(counts, row.size, size)
    limits = thresholds()
    found: list[Judged] = []
    usual = groups[0] if groups and groups[0].nodes >= limits.usual_share.value * size - _EXACT else None
    rest = groups[1:] if usual else groups
    odd = [group for group in rest if _is_few(group.nodes, size) and group.nodes < usual.nodes] if usual else []
    if usual:
        found += [Odd(path, one.value, one.nodes, usual.value, usual.nodes, one.values) for one in odd]
    share = limits.odd_share.value * size + _EXACT
    large = [g for g in groups if g not in odd and g.nodes > share and g.nodes >= limits.split_nodes.value]
    if len(large) > 1:
        found.append(Split(path, tuple((group.value, group.nodes) for group in large)))
    known = size - unknown
    if unknown and _is_few(unknown, size) and known >= limits.usual_share.value * size - _EXACT:
        found.append(Unread(path, unknown, known))
    return tuple(found)


_EXACT = 1e-9
"""0.8 times 5 nodes is not always 4."""


def _is_few(nodes: int, size: int) -> bool:
    limits = thresholds()
    return nodes <= max(limits.odd_share.value * size + _EXACT, limits.odd_nodes.value)


class _Group(NamedTuple):
    value: str
    nodes: int
    values: tuple[str, ...]


def _groups(counts: Mapping[str, int], sizes: bool, most: int) -> list[_Group]:
    """Equal values together, the most frequent first. A node whose GPUs have two of them counts for both, so a sum may
    be too high, never above the cohort: that makes a value less odd, not more."""
    ranked = sorted((item for item in counts.items() if item[1] > 0), key=lambda item: (-item[1], item[0]))
    found: list[_Group] = []
    for value, nodes in ranked:
        at = next((i for i, group in enumerate(found) if sizes and is_equal(group.value, value, True)), None)
        if at is None:
            found.append(_Group(value, nodes, (value,)))
        else:
            group = found[at]
            found[at] = group._replace(nodes=min(most, group.nodes + nodes), values=(*group.values, value))
    return sorted(found, key=lambda group: (-group.nodes, group.value))


def is_equal(a: str, b: str, size: bool = False) -> bool:
    """Whether two values of a fact count as the same; `size`: memory sizes may differ by 1 %."""
    if a == b or not size:
        return a == b
    try:
        first, second = float(a), float(b)
    except ValueError:
        return False
    return abs(first - second) <= thresholds().equal_size.value * max(abs(first), abs(second))


Node = TypeVar("Node", int, str)


def without_repeats(found: Iterable[tuple[str, frozenset[Node]]]) -> dict[str, tuple[str, ...]]:
    """Path to the paths that go into its line: what follows from another fact that is odd on the same nodes, or on more
    of them, such as libcuda's version from the driver's, is not reported again.

    found: paths with the nodes on which they are odd; a path may come several times.
    """
    nodes: dict[str, frozenset[Node]] = {}
    for path, some in found:
        nodes[path] = nodes.get(path, frozenset()) | some
    lines: dict[str, list[str]] = {}
    for path in nodes:
        first = first_of(path, nodes)
        lines.setdefault(first, [])
        if first != path:
            lines[first].append(path)
    return {path: tuple(more) for path, more in lines.items()}


def first_of(path: str, nodes: Mapping[str, frozenset[Node]]) -> str:
    """The fact at the beginning of the chain of those that this one follows from."""
    first, at, seen = path, path, {path}
    while (row := compared(at)) and row.same_as and row.same_as not in seen:
        at = row.same_as  # one in between that is not odd itself breaks no chain
        seen.add(at)
        if at in nodes and nodes[path] <= nodes[at]:
            first = at
    return first
