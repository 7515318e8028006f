"""What many nodes have in common is stored once: texts, sections, sets of facts, and lists of these."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from typing import Any, NamedTuple

from ...snapshot import Gpu, known
from ..cohorts import link_of, short
from .flatten import GPUS, facts_of, set_hash
from .rates import gpu_numbers
from .section import Kind, Section

_DICTIONARY = 32_768
_KEPT = 8192
_LEAST = 64
"""Bytes of a section that others may refer to."""


class Hole(NamedTuple):
    """A number of a report's own: which of those in the GPUs' section."""

    position: int


class _GpuRow(NamedTuple):
    number: int
    fixed: tuple[Any, ...]
    celsius: int | Hole | None
    watts: float | Hole | None


class Rows(NamedTuple):
    """The numbers of what is stored once for all reports of a kind."""

    sections: int
    facts: int
    layout: int
    gpus: tuple[_GpuRow, ...]


class Shared:
    """Adds rows, and knows the numbers of those that are there."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._texts: dict[str, int] = {}
        self._sections: dict[bytes, int] = {}
        self._bases: dict[str, tuple[int, bytes]] = {}
        self._sets: dict[bytes, int] = {}
        self._lists: dict[str, dict[bytes, int]] = {}

    def text(self, value: str | None) -> int | None:
        """The number of a text; None of none."""
        if value is None:
            return None
        number = self._texts.get(value)
        if number is None:
            number = self._texts[value] = len(self._texts) + 1
            self.db.execute("insert into text values (?, ?)", (number, storable(value)))
        return number

    def rows(self, kind: Kind) -> Rows:
        """What is stored once for all reports of a kind."""
        if kind.rows is None:
            numbers = gpu_numbers(kind.gpus)
            parts = [(self.text(one.name), self._section(one)) for one in kind.stored]
            facts = {(-1, self._set(one.name, one.alike)) for one in kind.stored if one.alike is not None}
            facts |= {(gpu, self._set(GPUS, content)) for gpu, content in zip(numbers, kind.of_gpus, strict=True)}
            gpus = tuple(self._gpu(kind, gpu, number) for gpu, number in zip(kind.gpus, numbers, strict=True))
            slots = [
                (slot.position, self.text(slot.figure), slot.gpu, int(slot.own), self.text(slot.unit))
                for slot in kind.layout or ()
            ]
            kind.rows = Rows(
                self._list("report_section", parts), self._list("report_fact", sorted(facts)),
                self._list("figure_slot", slots), gpus,
            )  # fmt: skip
        rows: Rows = kind.rows
        return rows

    def _list(self, table: str, rows: list[tuple[Any, ...]]) -> int:
        """The number of a list of rows in a table, which stands there once."""
        lists = self._lists.setdefault(table, {})
        digest = hashlib.blake2b(repr(rows).encode("ascii"), digest_size=16).digest()
        number = lists.get(digest)
        if number is None:
            number = lists[digest] = len(lists) + 1
            if rows:
                holes = ", ".join("?" * (1 + len(rows[0])))
                self.db.executemany(f"insert into {table} values ({holes})", [(number, *row) for row in rows])
        return number

    def _gpu(self, kind: Kind, gpu: Gpu, number: int) -> _GpuRow:
        model = short(known(gpu.name) or "")
        fixed = (
            known(gpu.pci_address), self.text(model), _whole(known(gpu.memory_total_mib)), self.text(known(gpu.vbios)),
            known(gpu.power_limit_w), self.text(link_of(gpu)),
        )  # fmt: skip
        celsius, watts = _whole(known(gpu.temperature_c)), known(gpu.power_draw_w)
        positions = kind.marks.number_of(celsius), kind.marks.number_of(watts)
        return _GpuRow(
            number, fixed, celsius if positions[0] is None else Hole(positions[0]),
            watts if positions[1] is None else Hole(positions[1]),
        )  # fmt: skip

    def _section(self, one: Section) -> int:
        number = self._sections.get(one.digest)
        if number is None:
            row = self.db.execute("select id from section where hash = ?", (one.digest,)).fetchone()
            number = row[0] if row else self._packed(one)
            if len(self._sections) >= _KEPT:
                self._sections.clear()
            self._sections[one.digest] = number
        return number

    def _packed(self, one: Section) -> int:
        base, dictionary = self._bases.get(one.name, (None, b""))
        packer = zlib.compressobj(6, zdict=dictionary) if dictionary else zlib.compressobj(9)
        packed = packer.compress(one.content) + packer.flush()
        row = (one.digest, base, packed)
        cursor = self.db.execute("insert into section (hash, base, content) values (?, ?, ?)", row)
        number = int(cursor.lastrowid or 0)
        if not dictionary and len(one.content) > _LEAST:
            self._bases[one.name] = number, one.content[-_DICTIONARY:]
        return number

    def _set(self, name: str, content: bytes) -> int:
        """The set of facts of a section, by what tells it from others."""
        key = hashlib.blake2b(name.encode() + content, digest_size=16).digest()
        number = self._sets.get(key)
        if number is None:
            facts = facts_of(name, content)
            digest = set_hash(facts)
            number = self._sets.get(digest)
            if number is None:
                number = int(self.db.execute("insert into fact_set (hash) values (?)", (digest,)).lastrowid or 0)
                rows = [(number, self.text(fact.path), self.text(fact.value)) for fact in facts]
                self.db.executemany("insert into set_fact values (?, ?, ?)", rows)
                self._sets[digest] = number
            self._sets[key] = number
        return number


def storable(text: str) -> str:
    """UTF-8, without the halves of characters that JSON can hold and SQLite cannot."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _whole(value: int | None) -> int | None:
    """What fits into SQLite's integers."""
    return value if value is None or abs(value) < 1 << 62 else None
