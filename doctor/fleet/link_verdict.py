"""What the rates of pairs of nodes say: which node is slow to all others, which path, which switch. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from .link_rates import LinkRate, Rated, TurnMedian, best_of, is_slow, medians_of, rated_of
from .nodesets import in_order
from .rounds import ROUNDS, Suspects, Switches, across

LEAST_NODES = 4
"""In fewer, a round has one pair, and nothing to compare it with."""


class SlowNode(NamedTuple):
    """A node whose best pair is below the limit. value, median: of that pair and of its round; confirmed: by the fourth
    round."""

    node: str
    partner: str
    value: float
    median: float
    pairs: int
    confirmed: bool


class SlowPath(NamedTuple):
    """Nodes that are good with others and slow with each other. ends: two nodes, or two switches; value, median: of the
    best measurement; nodes: all that measured it."""

    ends: tuple[str, str]
    switches: bool
    value: float
    median: float
    nodes: tuple[str, ...]
    confirmed: bool


class SlowSwitch(NamedTuple):
    """A switch whose nodes are all slow to those of others. value, median: of the best of these pairs."""

    switch: str
    nodes: tuple[str, ...]
    value: float
    median: float
    confirmed: bool


class LinkVerdict(NamedTuple):
    """All of it."""

    turns: tuple[TurnMedian, ...] = ()
    nodes: tuple[SlowNode, ...] = ()
    paths: tuple[SlowPath, ...] = ()
    switches: tuple[SlowSwitch, ...] = ()
    unmeasured: tuple[str, ...] = ()
    """Nodes of which no pair gave a number."""


class _Doubts(NamedTuple):
    """What three rounds leave open. unmeasured: nodes without a number; groups: switch to its nodes."""

    nodes: tuple[str, ...]
    unmeasured: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    paths: tuple[tuple[str, str], ...]


def suspects(rates: Sequence[LinkRate], switches: Switches) -> tuple[Suspects, frozenset[str]]:
    """What the fourth round is to decide after three, and the nodes that are good."""
    first = [rate for rate in rates if rate.pair.round <= ROUNDS]
    found = _doubts(first, rated_of(first, medians_of(first, switches), switches), switches)
    grouped = {name for members in found.groups.values() for name in members}
    nodes = tuple(name for name in (*found.nodes, *found.unmeasured) if name not in grouped)
    good = _names(first) - {*found.nodes, *found.unmeasured, *grouped}
    return Suspects(nodes, found.paths, tuple(found.groups.values())), good


def judge(rates: Sequence[LinkRate], switches: Switches) -> LinkVerdict:
    """The verdict on all rounds so far; before the fourth nothing is confirmed."""
    first = [rate for rate in rates if rate.pair.round <= ROUNDS]
    doubts = _doubts(first, rated_of(first, medians_of(first, switches), switches), switches)
    grouped = {name for members in doubts.groups.values() for name in members}
    doubtful = frozenset({*doubts.nodes, *doubts.unmeasured, *grouped})
    turns = medians_of(rates, switches, doubtful, doubts.paths)
    rated = rated_of(rates, turns, switches)
    groups = tuple(
        filter(None, (_group(switch, members, rated, doubtful) for switch, members in doubts.groups.items()))
    )
    in_group = {name for one in groups for name in one.nodes}
    wanted = [name for name in (*doubts.nodes, *doubts.unmeasured) if name not in in_group]
    nodes = tuple(filter(None, (_node(name, rated) for name in wanted)))
    bad = in_group | {one.node for one in nodes}
    paths = _paths([path for path in doubts.paths if bad.isdisjoint(path)], rated, bad, switches)
    measured = {name for one in rated for name in one.ends}
    return LinkVerdict(
        turns,
        tuple(sorted(nodes, key=lambda one: (not one.confirmed, one.value / one.median))),
        paths,
        groups,
        tuple(sorted(_names(rates) - measured, key=in_order)),
    )


def _names(rates: Iterable[LinkRate]) -> frozenset[str]:
    return frozenset(name for rate in rates for name in (rate.pair.one, rate.pair.other))


def _doubts(rates: Sequence[LinkRate], rated: Sequence[Rated], switches: Switches) -> _Doubts:
    of: dict[str, list[Rated]] = {}
    for one in rated:
        for name in one.ends:
            of.setdefault(name, []).append(one)
    unmeasured = tuple(sorted(_names(rates) - of.keys(), key=in_order))
    if len(_names(rates)) < LEAST_NODES:
        return _Doubts((), unmeasured, {}, ())
    best = {name: best_of(some) for name, some in of.items()}
    nodes = sorted((name for name, one in best.items() if is_slow(one)), key=lambda name: best[name].share)
    groups = _slow_groups(rated, frozenset(nodes), switches)
    excused = {*nodes, *(name for members in groups.values() for name in members)}
    paths = [
        one.ends for one in sorted(rated, key=lambda one: one.share) if is_slow(one) and excused.isdisjoint(one.ends)
    ]
    return _Doubts(tuple(nodes), unmeasured, groups, tuple(paths))


def _slow_groups(rated: Iterable[Rated], slow: frozenset[str], switches: Switches) -> dict[str, tuple[str, ...]]:
    """Switches of which two nodes or more measured a pair with another switch, and all these pairs are slow; a pair
    with a slow node elsewhere says nothing."""
    outside: dict[str, list[tuple[str, Rated]]] = {}
    for one in rated:
        if across(*one.ends, switches):
            for name, other in (one.ends, one.ends[::-1]):
                if other not in slow:
                    outside.setdefault(switches[name], []).append((name, one))
    found = {}
    for switch, pairs in sorted(outside.items(), key=lambda item: in_order(item[0])):
        if len({name for name, _ in pairs}) > 1 and all(is_slow(one) for _, one in pairs):
            found[switch] = tuple(sorted({name for name, _ in pairs}, key=in_order))
    return found


def _group(
    switch: str, members: tuple[str, ...], rated: Iterable[Rated], doubtful: frozenset[str]
) -> SlowSwitch | None:
    """None if a later pair with a good node elsewhere is good."""
    others = doubtful - set(members)
    pairs = [one for one in rated if len(set(one.ends) & set(members)) == 1 and others.isdisjoint(one.ends)]
    if not pairs or not all(map(is_slow, pairs)):
        return None
    best = best_of(pairs)
    return SlowSwitch(switch, members, best.value, best.median, sum(one.late for one in pairs) > 1)


def _node(name: str, rated: Iterable[Rated]) -> SlowNode | None:
    """None if a later pair is good, or it still has no number."""
    pairs = [one for one in rated if name in one.ends]
    if not pairs or not is_slow(best_of(pairs)):
        return None
    best = best_of(pairs)
    partner = next(end for end in best.ends if end != name)
    return SlowNode(name, partner, best.value, best.median, len(pairs), any(one.late for one in pairs))


def _paths(
    paths: Iterable[tuple[str, str]], rated: Sequence[Rated], bad: Collection[str], switches: Switches
) -> tuple[SlowPath, ...]:
    """Slow with each other in every measurement. Where two or more pairs between two switches were measured, and all
    are slow, it is the path between these switches."""
    found: dict[tuple[str, str], SlowPath] = {}
    sound = [one for one in rated if set(bad).isdisjoint(one.ends)]
    for path in paths:
        same = [one for one in sound if set(one.ends) == set(path)]
        if not all(map(is_slow, same)):
            continue
        ends, between = path, False
        if across(*path, switches):
            sides = sorted((switches[name] for name in path), key=in_order)
            parallel = [one for one in sound if sorted((switches.get(n, "") for n in one.ends), key=in_order) == sides]
            if len({frozenset(one.ends) for one in parallel}) > 1 and all(map(is_slow, parallel)):
                ends, between, same = (sides[0], sides[1]), True, parallel
        best = best_of(same)
        names = tuple(sorted({name for one in same for name in one.ends}, key=in_order))
        found.setdefault(
            ends, SlowPath(ends, between, best.value, best.median, names, sum(one.late for one in same) > 1)
        )
    return tuple(found.values())
