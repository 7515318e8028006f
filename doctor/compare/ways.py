"""The units that explain a finding, as facts for a reader."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..fleet.facts import is_answer
from ..snapshot import known
from . import listed
from .answer import FactChange, Way
from .atoms import Atom, Pair
from .explain import Unit

_TORCH = "python.distributions[torch]"


class Ways:
    """units: all that changed, in sets; what an atom alone follows from is its unit's first."""

    def __init__(self, pair: Pair, units: Sequence[Unit]) -> None:
        self._pair = pair
        self._lead = {atom: unit[0] for unit in units for atom in unit}

    def of(self, ways: Sequence[tuple[Unit, ...]]) -> tuple[Way, ...]:
        """Each way to put a finding right; without those that only follow from another one."""
        alone = {way[0][0].path for way in ways if len(way) == 1}
        kept = [way for way in ways if len(way) > 1 or len(way[0]) > 1 or not self._follows(way[0][0], alone)]
        rows = [Way(facts=tuple(self._fact(unit) for unit in way), follows=self._leads(way)) for way in kept]
        for is_weak in (_is_unread, _is_answer):
            rows = [row for row in rows if not all(map(is_weak, row.facts))] or rows
        return tuple(_together(rows))

    def _follows(self, atom: Atom, alone: set[str]) -> bool:
        lead = self._lead.get(atom, atom).path
        return lead != atom.path and lead in alone

    def _fact(self, unit: Unit) -> FactChange:
        first = unit[0]
        gpus = sorted({atom.gpu for atom in unit if atom.gpu >= 0}) if first.gpu >= 0 else []
        fact = listed.of_atom(self._pair, first, gpus)
        if first.path == _TORCH:  # its metadata may lack the build
            was, now = known(self._pair.old.torch.version), known(self._pair.new.torch.version)
            fact = replace(fact, before=was or fact.before, after=now or fact.after)
        return replace(fact, also=tuple(dict.fromkeys(atom.path for atom in unit if atom.path != first.path)))

    def _leads(self, way: Sequence[Unit]) -> tuple[FactChange, ...]:
        leads = [self._lead[unit[0]] for unit in way if unit[0] in self._lead and len(unit) == 1]
        own = {unit[0].path for unit in way}
        found = {lead.path: (lead,) for lead in leads if lead.path not in own}
        return tuple(self._fact(unit) for unit in found.values())


def _is_unread(fact: FactChange) -> bool:
    """Whether it is unknown that it changed: a check does not judge without it."""
    return fact.kind in ("known", "unknown")


def _is_answer(fact: FactChange) -> bool:
    return is_answer(fact.path)


def _together(rows: Sequence[Way]) -> list[Way]:
    """One way for all GPUs on which the same fact changed alike."""
    found: dict[object, Way] = {}
    for way in rows:
        key = replace(way, facts=tuple(replace(fact, gpus=()) for fact in way.facts))
        if key in found:
            gpus = [tuple(sorted({*a.gpus, *b.gpus})) for a, b in zip(found[key].facts, way.facts, strict=True)]
            facts = tuple(replace(fact, gpus=some) for fact, some in zip(way.facts, gpus, strict=True))
            found[key] = replace(way, facts=facts)
        else:
            found[key] = way
    return list(found.values())
