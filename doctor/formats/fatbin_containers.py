"""Fat binary containers by where they lie in a file, put to its sections once the section table is known."""

from __future__ import annotations

from array import array
from typing import Dict

from .elf import SHT_NOBITS, ElfError, parse_elf
from .fatbin import MAX_CONTAINERS, MAX_ENTRIES, SECTIONS, Container
from .fatbin_summary import FatbinSummary, Key, SectionSummary, Shapes
from .reader import Pread

_MAX_SECTIONS = 16
_MAX_TROUBLES = 4096
_MAX_PADDING = 4096  # at a section's end


class Containers:
    """Counted containers, in ascending order of their offsets."""

    def __init__(self) -> None:
        self.end = 0
        self.full = False
        self._shapes = Shapes()
        self._keys: Dict[Key, int] = {}
        self._starts, self._ends, self._key_of = array("Q"), array("Q"), array("L")
        self._troubles: Dict[int, str] = {}
        self._gaps: Dict[int, int] = {}
        self._entries = 0

    def add(self, container: Container, zeros_from: int) -> None:
        """Count one; ``zeros_from``: nothing but zeros stands between there and its start."""
        number = len(self._starts)
        if zeros_from != self.end and len(self._gaps) < _MAX_TROUBLES:
            self._gaps[number] = zeros_from
        if container.problem and len(self._troubles) < _MAX_TROUBLES:
            self._troubles[number] = container.problem
        self._starts.append(container.offset)
        self._ends.append(container.end)
        self._key_of.append(self._keys.setdefault(self._shapes.key(container), len(self._keys)))
        self._entries += len(container.headers)
        self.end = container.end
        self.full = number + 1 >= MAX_CONTAINERS or self._entries >= MAX_ENTRIES

    def summary(self, read: Pread, size: int) -> FatbinSummary:
        """The sections of a file of ``size`` bytes, as ``summarize`` counts them. ``read`` gives its section table.

        Raises ElfError.
        """
        sections = parse_elf(read).sections
        if self._starts and not any(s.name for s in sections):
            raise ElfError("the names of its sections were not found")
        found = [s for s in sections if s.name in SECTIONS and s.type != SHT_NOBITS and s.size]
        return FatbinSummary(tuple([self._section(s.name, s.offset, s.size, size) for s in found[:_MAX_SECTIONS]]))

    def _section(self, name: str, offset: int, size: int, file_bytes: int) -> SectionSummary:
        keys = list(self._keys)
        counts: Dict[Key, int] = {}
        problem, reached, end = "", offset, offset + size
        for number, start in enumerate(self._starts):
            if not offset <= start < end:
                continue
            if self._gaps.get(number, 0) > reached:
                problem = problem or "no container at byte %d of the section" % (reached - offset)
            problem = problem or self._troubles.get(number, "")
            reached = self._ends[number]
            key = keys[self._key_of[number]]
            counts[key] = counts.get(key, 0) + 1
        if not counts:
            problem = "no container at byte 0 of the section"
        elif reached > end:
            problem = problem or "container is longer than its section"
        elif end > file_bytes:
            problem = problem or "file ends inside the section"
        elif end - reached >= _MAX_PADDING:
            more = self.full and "more containers than any real library has"
            problem = problem or more or "no container at byte %d of the section" % (reached - offset)
        return self._shapes.summary(name, size, counts, problem)
