"""Which changed facts explain a finding: those that make it go away when they are put back and it is judged again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..findings import Finding, Policy
from ..fleet.facts import is_answer
from ..judge.compared import apart
from ..judge.judge import examine_by
from ..judge.registry import Registered
from ..snapshot import Missing, Snapshot
from .answer import Explained
from .atoms import Atom, Pair
from .packages import Packages
from .units import units

if TYPE_CHECKING:
    from compat_matrix import Matrix

Unit: TypeAlias = tuple[Atom, ...]
_RANKS = {"warn": 1, "fail": 2}
_DEEPEST = 3
"""Names in the path of a field, at most: `python.patient.version`."""
_PAIRS_OF = 40
"""Of this many units at most, every pair is tried where more than two are needed by taking one away after the other."""


class Reason(NamedTuple):
    """Why a finding is in one of the two alone."""

    explained: Explained
    ways: tuple[tuple[Unit, ...], ...] = ()
    """Each is enough alone; its units have to be put back together, the leading atom of each first."""


class Judge:
    """Judges a check again on one side with atoms as they are on the other."""

    def __init__(self, pair: Pair, packages: Packages, matrix: Matrix, policy: Policy, into_new: bool) -> None:
        self.pair, self._matrix, self._policy, self._into_new = pair, matrix, policy, into_new
        self.atoms = pair.atoms()
        self.units = units(pair, self.atoms, packages)
        self._readings: list[Unit] | None = None

    def reason(self, check: Registered, findings: Sequence[Finding]) -> Reason:
        """Why these findings of a check, which are in NEW (or OLD) alone, are there."""
        subjects = {self.pair.subject(finding.subject) for finding in findings}
        donor = self.pair.old if self._into_new else self.pair.new
        there = examine_by(check, donor, self._matrix, self._policy)
        ranks = [_RANKS.get(f.status, 0) for f in apart(there.findings) if self.pair.subject(f.subject) in subjects]
        rank = max(ranks, default=0) + 1  # a failure of which a warning is left is not gone
        rank = min([rank, *(_RANKS[finding.status] for finding in findings)])
        open_there = there.status == "unknown" or there.skip == "not-examined"
        open_there |= any(f.status == "unknown" and f.subject in subjects for f in apart(there.findings))

        def gone_in(s: Snapshot) -> bool:
            found = examine_by(check, s, self._matrix, self._policy)
            if not open_there and (found.status == "unknown" or found.skip == "not-examined"):
                return False  # not to know is no cure
            bad = [f for f in apart(found.findings) if self.pair.subject(f.subject) in subjects]
            return not any(_RANKS.get(f.status, 0) >= rank or (f.status == "unknown" and not open_there) for f in bad)

        def cures(some: Iterable[Unit]) -> bool:
            return gone_in(self.pair.with_back((atom for unit in some for atom in unit), self._into_new))

        if cures(self.units):
            return Reason("facts", tuple(self._ways(cures)))
        every = [*self.units, *self._nature()]
        if cures(every):
            ways: list[tuple[Unit, ...]] = [(unit,) for unit in self._nature() if cures([unit])]
            ways = ways or [smallest(every, cures)]
            return Reason("readings", tuple(ways))
        base, measured = self.pair.with_back([a for u in every for a in u], self._into_new), donor.measured
        return Reason("measurements" if gone_in(base.replace({"measured": measured})) else "not-explained")

    def _ways(self, cures: Callable[[Iterable[Unit]], bool]) -> list[tuple[Unit, ...]]:
        """Single atoms, and units of which no atom alone cures; else the smallest set of units."""
        lone: list[Unit] = [(atom,) for atom in _alone(self.atoms, cures, 1)]
        lone = self._as_units(lone, cures)
        single = {atom for unit in lone for atom in unit if not self._is_weak(atom)}
        more = [unit for unit in self.units if len(unit) > 1 and single.isdisjoint(unit) and cures([unit])]
        ways: list[tuple[Unit, ...]] = [(unit,) for unit in (*lone, *more)]
        firm = [unit for unit in self.units if not all(map(self._is_weak, unit))]
        if all(map(self._is_weak, (atom for unit in (*lone, *more) for atom in unit))):
            if cures(firm):
                return [smallest(firm, cures)]  # an answer is an explanation only if nothing else is
            if not ways:
                some = smallest(self.units, cures)
                return [tuple(unit for unit in some if unit in firm) or some]
        return ways

    def _as_units(self, lone: list[Unit], cures: Callable[[Iterable[Unit]], bool]) -> list[Unit]:
        """Several facts that changed together, each of which is enough, are one way."""
        found = set(lone)
        for unit in self.units:
            some = [(atom,) for atom in unit if (atom,) in found and not self._is_weak(atom)]
            if len(some) > 1 and cures([unit]):
                found = (found - set(some)) | {unit}
        return [unit for unit in (*lone, *self.units) if unit in found]

    def _is_weak(self, atom: Atom) -> bool:
        """Whether it only follows from others, or is unknown on one side."""
        sides = (self.pair.item(atom, False), self.pair.item(atom, True))
        return is_answer(atom.path) or any(isinstance(one, Missing) and one.reason != "absent" for one in sides)

    def _nature(self) -> list[Unit]:
        if self._readings is None:
            self._readings = [(atom,) for atom in self.pair.readings(self.atoms)]
        return self._readings


def _alone(atoms: Sequence[Atom], cures: Callable[[Iterable[Unit]], bool], depth: int) -> list[Atom]:
    """The atoms that cure alone: looked for in the sections that cure, then in their fields, then one by one."""
    groups: dict[str, list[Atom]] = {}
    for atom in atoms:
        groups.setdefault(".".join(atom.field.split(".")[:depth]), []).append(atom)
    found: list[Atom] = []
    for group in groups.values():
        if not cures([tuple(group)]):
            continue  # none of them alone does
        if len(group) == 1:
            found += group
        elif depth < _DEEPEST:
            found += _alone(group, cures, depth + 1)
        else:
            found += [atom for atom in group if cures([(atom,)])]
    return found


def smallest(some: Sequence[Unit], cures: Callable[[Iterable[Unit]], bool]) -> tuple[Unit, ...]:
    """The fewest of these units, all of which together cure: what is not needed is taken away, from either end, and
    where more than two are left, every pair is tried."""
    found = min((_needed(order, cures) for order in (list(some), list(reversed(some)))), key=len)
    if len(found) > 2 and len(some) <= _PAIRS_OF:
        found = next((pair for pair in combinations(some, 2) if cures(pair)), found)
    return tuple(unit for unit in some if unit in found)


def _needed(some: Sequence[Unit], cures: Callable[[Iterable[Unit]], bool]) -> tuple[Unit, ...]:
    left = list(some)
    size = max(1, len(left) // 2)
    while True:
        at = 0
        while at < len(left):
            rest = [*left[:at], *left[at + size :]]
            if cures(rest):
                left = rest
            else:
                at += size
        if size == 1:
            return tuple(left)
        size = max(1, size // 2)
