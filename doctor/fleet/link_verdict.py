"""What the rates of pairs of nodes say: which node is slow to all others, which path, which switch.

Each rate is compared with its own round's median: other rounds were measured over other paths and beside other pairs.
A pair without a number is not measured, and that is never good. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from statistics import median_high
from typing import NamedTuple

from .nodesets import in_order
from .rounds import ROUNDS, Pair, Suspects, Switches, across
from .thresholds import thresholds

LEAST_NODES = 4
"""In fewer, a round has one pair, and nothing to compare it with."""


class LinkRate(NamedTuple):
    """What a pair measured. value: GB/s; None if there is no number, and then `reason` says why."""

    pair: Pair
    value: float | None
    reason: str = ""


class TurnMedian(NamedTuple):
    """A round, or a turn of the fourth: what its rates are compared with; None where nothing was measured."""

    round: int
    turn: int
    pairs: int
    measured: int
    median: float | None


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


class _Rated(NamedTuple):
    """A measured pair against its round."""

    pair: Pair
    value: float
    median: float

    @property
    def share(self) -> float:
        return self.value / self.median

    @property
    def ends(self) -> tuple[str, str]:
        return self.pair.one, self.pair.other

    @property
    def late(self) -> bool:
        return self.pair.round > ROUNDS


class _Doubts(NamedTuple):
    """What three rounds leave open. unmeasured: nodes without a number; groups: switch to its nodes."""

    nodes: tuple[str, ...]
    unmeasured: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    paths: tuple[tuple[str, str], ...]


def suspects(rates: Sequence[LinkRate], switches: Switches) -> tuple[Suspects, frozenset[str]]:
    """What the fourth round is to decide after three, and the nodes that are good."""
    first = [rate for rate in rates if rate.pair.round <= ROUNDS]
    found = _doubts(first, _rated(first, _turns(first, switches), switches), switches)
    grouped = {name for members in found.groups.values() for name in members}
    nodes = tuple(name for name in (*found.nodes, *found.unmeasured) if name not in grouped)
    good = _names(first) - {*found.nodes, *found.unmeasured, *grouped}
    return Suspects(nodes, found.paths, tuple(found.groups.values())), good


def judge(rates: Sequence[LinkRate], switches: Switches) -> LinkVerdict:
    """The verdict on all rounds so far; before the fourth nothing is confirmed."""
    first = [rate for rate in rates if rate.pair.round <= ROUNDS]
    doubts = _doubts(first, _rated(first, _turns(first, switches), switches), switches)
    grouped = {name for members in doubts.groups.values() for name in members}
    doubtful = frozenset({*doubts.nodes, *doubts.unmeasured, *grouped})
    turns = _turns(rates, switches, doubtful, doubts.paths)
    rated = _rated(rates, turns, switches)
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


def is_rate(value: float | None) -> bool:
    """Whether a link can have this rate."""
    return value is not None and math.isfinite(value) and value > 0


def _names(rates: Iterable[LinkRate]) -> frozenset[str]:
    return frozenset(name for rate in rates for name in (rate.pair.one, rate.pair.other))


def _turns(
    rates: Iterable[LinkRate],
    switches: Switches,
    doubtful: Collection[str] = (),
    paths: Collection[tuple[str, str]] = (),
) -> tuple[TurnMedian, ...]:
    """In the fourth round most pairs may be suspect: its median is that of the others, and if there are none the third
    round's."""
    by_turn: dict[tuple[int, int], list[LinkRate]] = {}
    for rate in rates:
        by_turn.setdefault((rate.pair.round, rate.pair.turn), []).append(rate)
    found: list[TurnMedian] = []
    for (number, turn), some in sorted(by_turn.items()):
        measured = [rate for rate in some if is_rate(rate.value)]
        plain = [
            rate
            for rate in measured
            if number <= ROUNDS
            or (rate.pair[2:] not in paths and rate.pair.one not in doubtful and rate.pair.other not in doubtful)
        ]
        plain = [rate for rate in plain if _is_usual(rate.pair, switches)] or plain
        values = [rate.value for rate in plain if rate.value is not None]
        earlier = found[-1].median if found and number > ROUNDS else None
        found.append(TurnMedian(number, turn, len(some), len(measured), median_high(values) if values else earlier))
    return _few_together(found)


def _is_usual(pair: Pair, switches: Switches) -> bool:
    """Whether it is what its round is for: neighbors in the first, distant nodes in the others."""
    return across(pair.one, pair.other, switches) != (pair.round == 1)


def _few_together(turns: Sequence[TurnMedian]) -> tuple[TurnMedian, ...]:
    """Of few pairs half may be slow by chance: then both distant rounds have the higher median of the two."""
    distant = [one for one in turns if 1 < one.round <= ROUNDS]
    highest = max((one.median for one in distant if one.median is not None), default=None)
    few = any(one.measured < thresholds().link_pairs.value for one in distant)
    return tuple(one._replace(median=highest) if few and one in distant else one for one in turns)


def _rated(rates: Iterable[LinkRate], turns: Iterable[TurnMedian], switches: Switches) -> list[_Rated]:
    """A pair that is not what its round is for has the median of the first round that is for such pairs."""
    medians = {(one.round, one.turn): one.median for one in turns}
    found = []
    for rate in rates:
        median = medians[rate.pair.round, rate.pair.turn]
        if switches and not _is_usual(rate.pair, switches):
            median = medians.get((2 if rate.pair.round == 1 else 1, 1)) or median
        if rate.value is not None and median is not None and is_rate(rate.value):
            found.append(_Rated(rate.pair, rate.value, median))
    return found


def _is_slow(one: _Rated) -> bool:
    return one.share < thresholds().link_share.value


def _best(rated: Iterable[_Rated]) -> _Rated:
    return max(rated, key=lambda one: one.share)


def _doubts(rates: Sequence[LinkRate], rated: Sequence[_Rated], switches: Switches) -> _Doubts:
    of: dict[str, list[_Rated]] = {}
    for one in rated:
        for name in one.ends:
            of.setdefault(name, []).append(one)
    unmeasured = tuple(sorted(_names(rates) - of.keys(), key=in_order))
    if len(_names(rates)) < LEAST_NODES:
        return _Doubts((), unmeasured, {}, ())
    best = {name: _best(some) for name, some in of.items()}
    nodes = sorted((name for name, one in best.items() if _is_slow(one)), key=lambda name: best[name].share)
    groups = _slow_groups(rated, frozenset(nodes), switches)
    excused = {*nodes, *(name for members in groups.values() for name in members)}
    paths = [
        one.ends for one in sorted(rated, key=lambda one: one.share) if _is_slow(one) and excused.isdisjoint(one.ends)
    ]
    return _Doubts(tuple(nodes), unmeasured, groups, tuple(paths))


def _slow_groups(rated: Iterable[_Rated], slow: frozenset[str], switches: Switches) -> dict[str, tuple[str, ...]]:
    """Switches of which two nodes or more measured a pair with another switch, and all these pairs are slow; a pair
    with a slow node elsewhere says nothing."""
    outside: dict[str, list[tuple[str, _Rated]]] = {}
    for one in rated:
        if across(*one.ends, switches):
            for name, other in (one.ends, one.ends[::-1]):
                if other not in slow:
                    outside.setdefault(switches[name], []).append((name, one))
    found = {}
    for switch, pairs in sorted(outside.items(), key=lambda item: in_order(item[0])):
        if len({name for name, _ in pairs}) > 1 and all(_is_slow(one) for _, one in pairs):
            found[switch] = tuple(sorted({name for name, _ in pairs}, key=in_order))
    return found


def _group(
    switch: str, members: tuple[str, ...], rated: Iterable[_Rated], doubtful: frozenset[str]
) -> SlowSwitch | None:
    """None if a later pair with a good node elsewhere is good."""
    others = doubtful - set(members)
    pairs = [one for one in rated if len(set(one.ends) & set(members)) == 1 and others.isdisjoint(one.ends)]
    if not pairs or not all(map(_is_slow, pairs)):
        return None
    best = _best(pairs)
    return SlowSwitch(switch, members, best.value, best.median, sum(one.late for one in pairs) > 1)


def _node(name: str, rated: Iterable[_Rated]) -> SlowNode | None:
    """None if a later pair is good, or it still has no number."""
    pairs = [one for one in rated if name in one.ends]
    if not pairs or not _is_slow(_best(pairs)):
        return None
    best = _best(pairs)
    partner = next(end for end in best.ends if end != name)
    return SlowNode(name, partner, best.value, best.median, len(pairs), any(one.late for one in pairs))


def _paths(
    paths: Iterable[tuple[str, str]], rated: Sequence[_Rated], bad: Collection[str], switches: Switches
) -> tuple[SlowPath, ...]:
    """Slow with each other in every measurement. Where two or more pairs between two switches were measured, and all
    are slow, it is the path between these switches."""
    found: dict[tuple[str, str], SlowPath] = {}
    sound = [one for one in rated if set(bad).isdisjoint(one.ends)]
    for path in paths:
        same = [one for one in sound if set(one.ends) == set(path)]
        if not all(map(_is_slow, same)):
            continue
        ends, between = path, False
        if across(*path, switches):
            sides = sorted((switches[name] for name in path), key=in_order)
            parallel = [one for one in sound if sorted((switches.get(n, "") for n in one.ends), key=in_order) == sides]
            if len({frozenset(one.ends) for one in parallel}) > 1 and all(map(_is_slow, parallel)):
                ends, between, same = (sides[0], sides[1]), True, parallel
        best = _best(same)
        names = tuple(sorted({name for one in same for name in one.ends}, key=in_order))
        found.setdefault(
            ends, SlowPath(ends, between, best.value, best.median, names, sum(one.late for one in same) > 1)
        )
    return tuple(found.values())
