"""Which pairs of nodes measure their link at the same time: three rounds of disjoint pairs, then a fourth for those
that look slow.

Pure: no clock, no files. A node is in at most one pair of a turn, and in no pair twice in the first three rounds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from .nodesets import in_order

ROUNDS = 3
"""That every node takes part in."""
_MOSTLY = 0.8
_CANDIDATES = 64
"""Rounds of the circle method that are compared with each other."""

Switches: TypeAlias = Mapping[str, str]
"""Node to the switch that it is plugged into; without an entry that is not known."""


class Pair(NamedTuple):
    """Two nodes that measure the link between them. turn: 1 but in the fourth round, whose turns are 1 and 2."""

    round: int
    turn: int
    one: str
    other: str


Turn: TypeAlias = "tuple[Pair, ...]"


class Suspects(NamedTuple):
    """What the fourth round is to decide."""

    nodes: tuple[str, ...] = ()
    """Below the limit even in their best pair, or without any number."""
    paths: tuple[tuple[str, str], ...] = ()
    """Slow pairs of two nodes that are good with others."""
    groups: tuple[tuple[str, ...], ...] = ()
    """The nodes of each switch whose nodes are all slow to the others."""


def first_rounds(nodes: Collection[str], switches: Switches) -> tuple[Turn, ...]:
    """Neighbors, then twice distant nodes by the circle method. Three rounds, or as many as there are without a pair
    twice: 1 for two nodes. An odd number of nodes leaves one out in each round, a different one each time."""
    names = sorted(set(nodes), key=lambda name: (in_order(switches.get(name, "")), in_order(name)))
    if len(names) < 2:
        return ()
    near = _neighbors(names, switches)
    rounds = [near, *_distant(names, near, switches)]
    return tuple(tuple(Pair(number, 1, *pair) for pair in pairs) for number, pairs in enumerate(rounds, 1))


def fourth_round(
    suspects: Suspects, good: Collection[str], switches: Switches, before: Collection[Pair]
) -> tuple[Turn, ...]:
    """Two turns, so that each suspect node meets two good ones. Slow paths are measured again, and the good nodes that
    are left form pairs to compare with. good: nodes that are not suspect; before: all earlier pairs. Empty if there is
    nothing to decide."""
    if not any(suspects):
        return ()
    met = {frozenset((pair.one, pair.other)) for pair in before}
    first = _turn(suspects, good, switches, met, 1, frozenset())
    return (first, _turn(suspects, good, switches, met, 2, frozenset(frozenset((p.one, p.other)) for p in first)))


def across(one: str, other: str, switches: Switches) -> bool:
    """Whether two nodes are known to be on different switches."""
    return switches.get(one, "") != switches.get(other, "") and one in switches and other in switches


_Names: TypeAlias = "tuple[str, str]"


def _neighbors(names: Sequence[str], switches: Switches) -> list[_Names]:
    """Two after two on each switch; those that are left over with each other."""
    by_switch: dict[str, list[str]] = {}
    for name in names:
        by_switch.setdefault(switches.get(name, ""), []).append(name)
    left = [some.pop() for some in by_switch.values() if len(some) % 2]
    return [pair for some in (*by_switch.values(), left) for pair in zip(some[::2], some[1::2], strict=False)]


def _distant(names: Sequence[str], near: Collection[_Names], switches: Switches) -> list[list[_Names]]:
    """Two rounds of the circle method without a pair of `near`: those with the most pairs across switches. Nodes stand
    in the circle in an order that has nothing to do with their place, which joins each switch with many others; by
    switch where that would leave many pairs within one."""
    mixed = sorted(names, key=lambda name: blake2b(name.encode("utf-8", "backslashreplace"), digest_size=8).digest())
    found = [_best_two(order, near, switches) for order in (mixed, list(names))]
    crossing = [sum(_crossing(pairs, switches) for pairs in rounds) for rounds in found]
    return found[0] if crossing[0] >= _MOSTLY * crossing[1] else found[1]


def _crossing(pairs: Collection[_Names], switches: Switches) -> int:
    return sum(across(*pair, switches) for pair in pairs)


def _best_two(order: Sequence[str], near: Collection[_Names], switches: Switches) -> list[list[_Names]]:
    seats: list[str | None] = [*order, *([None] if len(order) % 2 else [])]
    number = {name: at for at, name in enumerate(seats)}
    count = len(seats) - 1
    resting = set(order) - {name for pair in near for name in pair}
    taken = {_round_of(number[one], number[other], count) for one, other in near}
    taken |= {_round_of(number[name], count, count) for name in resting}  # the same one would rest twice
    free = [index for index in range(count) if index not in taken]
    some = free[:: max(1, len(free) // _CANDIDATES)]
    rounds = [_circle(seats, index) for index in some]
    best = sorted(range(len(rounds)), key=lambda index: -_crossing(rounds[index], switches))[: ROUNDS - 1]
    return [rounds[index] for index in best]


def _round_of(one: int, other: int, count: int) -> int:
    """In which round of the circle these two seats meet; place `count` is the middle."""
    total = 2 * min(one, other) if count in (one, other) else one + other
    return total * ((count + 1) // 2) % count  # (count + 1) / 2 is the inverse of 2


def _circle(seats: Sequence[str | None], index: int) -> list[_Names]:
    """Round `index`: the middle with the place of that number, the others mirrored at it. None rests."""
    count = len(seats) - 1
    pairs = [(seats[count], seats[index])]
    pairs += [(seats[(index + step) % count], seats[(index - step) % count]) for step in range(1, count // 2 + 1)]
    return [(one, other) for one, other in pairs if one is not None and other is not None]


_Met: TypeAlias = "Collection[frozenset[str]]"


def _turn(
    suspects: Suspects, good: Collection[str], switches: Switches, met: _Met, number: int, just_met: _Met
) -> Turn:
    """One turn of the fourth round: no node twice. just_met: the pairs of the turn before."""
    free = dict.fromkeys(sorted(good, key=in_order))
    """The good nodes that have no pair yet."""
    pairs: list[_Names] = []
    for one, other in sorted(suspects.paths, key=lambda path: frozenset(path) in just_met):
        if one in free and other in free:
            pairs += _taken(one, other, free)
            parallel = _parallel(one, other, free, switches)
            pairs += _taken(*parallel, free) if parallel else []
    keep = 2 if len(free) > 2 else 0
    """Two that measure with each other, to compare with."""
    for name in (*suspects.nodes, *_of_groups(suspects.groups, number)):
        if len(free) <= keep:
            break
        partner = min(free, key=lambda one: _worth(name, one, switches, met, just_met))
        pairs += _taken(name, partner, free)
    left = sorted(free, key=lambda name: (in_order(switches.get(name, "")), in_order(name)))
    half = len(left) // 2
    pairs += zip(left[:half], left[len(left) - half :], strict=True)
    return tuple(Pair(ROUNDS + 1, number, *pair) for pair in pairs)


def _taken(one: str, other: str, free: dict[str, None]) -> list[_Names]:
    for name in (one, other):
        free.pop(name, None)
    return [(one, other)]


def _parallel(one: str, other: str, free: Collection[str], switches: Switches) -> _Names | None:
    """Other nodes of the same two switches: if those are slow too, it is the path between the switches."""
    if not across(one, other, switches):
        return None
    sides = [next((name for name in free if switches.get(name) == switches[end]), None) for end in (one, other)]
    return (sides[0], sides[1]) if sides[0] is not None and sides[1] is not None else None


def _of_groups(groups: Collection[tuple[str, ...]], number: int) -> list[str]:
    """Two nodes of each slow switch: other ones in each turn, if it has four."""
    found = [members[2 * (number - 1) :][:2] for members in groups]
    return [
        name for some, members in zip(found, groups, strict=True) for name in (some if len(some) == 2 else members[:2])
    ]


def _worth(name: str, partner: str, switches: Switches, met: _Met, just_met: _Met) -> tuple[bool, bool, bool]:
    """The smallest first: not the partner of the turn before, on another switch, not met before."""
    pair = frozenset((name, partner))
    return pair in just_met, not across(name, partner, switches), pair in met
