"""The rows of a database that is being written."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from ...findings import Finding
from ...snapshot import Gpu, known
from ..cohorts import link_of, short
from ..kinds import Cohort, Refused
from .flatten import GPUS, facts_of, set_hash
from .rates import gpu_numbers
from .said import Said
from .sections import Kind, Section, Sections

_DICTIONARY = 32_768
_KEPT = 8192
_LEAST = 64
"""Bytes of a section that others may refer to."""
OF_NODE = ("report", "figure_row", "finding_row", "gpu_row", "remark_row")
LOOK = 1_000_000
"""Findings of a repeated measurement are numbered from its number times this on."""


class _Hole(NamedTuple):
    """A number of a report's own: which of those in the GPUs' section."""

    place: int


class _GpuRow(NamedTuple):
    number: int
    fixed: tuple[Any, ...]
    celsius: int | _Hole | None
    watts: float | _Hole | None


class _Rows(NamedTuple):
    """The numbers of what is stored once for all reports of a kind."""

    sections: int
    facts: int
    layout: int
    gpus: tuple[_GpuRow, ...]


class Tables:
    """Adds rows; what is on many nodes stands once."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._texts: dict[str, int] = {}
        self._sections: dict[bytes, int] = {}
        self._bases: dict[str, tuple[int, bytes]] = {}
        self._sets: dict[bytes, int] = {}
        self._fixes: dict[bytes, int] = {}
        self._lists: dict[str, dict[bytes, int]] = {}
        self._said = Said()

    def text(self, value: str | None) -> int | None:
        """The number of a text; None of none."""
        if value is None:
            return None
        number = self._texts.get(value)
        if number is None:
            number = self._texts[value] = len(self._texts) + 1
            self._db.execute("insert into text values (?, ?)", (number, storable(value)))
        return number

    def node(self, row: dict[str, Any]) -> None:
        """A row of `node`, by column."""
        if row["reason"]:
            row = row | {"reason": self._said.text(row["reason"])}
        columns = ", ".join(row)
        holes = ", ".join("?" * len(row))
        values = [storable(value) if isinstance(value, str) else value for value in row.values()]
        self._db.execute(f"insert into node ({columns}) values ({holes})", values)

    def judged(self, node: int, verdict: str, judged: str) -> None:
        self._db.execute("update node set verdict = ?, judged = ? where id = ?", (verdict, judged, node))

    def drop_node(self, node: int) -> None:
        """All rows of a node whose later answer counts."""
        for table in OF_NODE:
            self._db.execute(f"delete from {table} where node = ?", (node,))
        self._db.execute("delete from node where id = ?", (node,))

    def silent(self, node: int, verdict: str, reason: str) -> None:
        """A node that answered, and was not to be examined later: it is compared with no other."""
        self._db.execute(
            "update node set state = 'not-examined', reason = ?, verdict = ?, model = null, gpus = null, "
            "memory_gib = null, arch = null where id = ?", (storable(self._said.text(reason)), verdict, node),
        )  # fmt: skip

    def drop_base(self, node: int) -> None:
        """The rows of a node, but not the figures and findings of repeated measurements."""
        for table in ("report", "gpu_row", "remark_row"):
            self._db.execute(f"delete from {table} where node = ?", (node,))
        self._db.execute("delete from node where id = ?", (node,))

    def drop_look(self, node: int, repeat: int) -> None:
        """The figures and findings of one repeated measurement."""
        self._db.execute("delete from figure_row where node = ? and repeat = ?", (node, repeat))
        self._db.execute("delete from finding_row where node = ? and number between ? and ?", (node, *_range(repeat)))

    def move_look(self, node: int, repeat: int, to: int) -> None:
        """A repeated measurement is one of another answer of that node."""
        self._db.execute("update figure_row set node = ? where node = ? and repeat = ?", (to, node, repeat))
        self._db.execute(
            "update finding_row set node = ? where node = ? and number between ? and ?", (to, node, *_range(repeat))
        )

    def same_findings(self, node: int) -> None:
        """What several measurements of a node found stands once."""
        self._db.execute(
            "delete from finding_row as f where f.node = ? and exists (select 1 from finding_row e where "
            "e.node = f.node and e.number < f.number and e.id = f.id and e.status = f.status "
            "and e.subject is f.subject)", (node,),
        )  # fmt: skip

    def remark(self, node: int, kind: str, detail: str) -> None:
        words = self._said.text(detail) if kind == "silent-before" else detail
        self._db.execute("insert into remark_row values (?, ?, ?)", (node, kind, self.text(words)))

    def report(self, node: int, found: Sections) -> None:
        """The sections of a node's report, its facts and its GPUs."""
        rows = self._rows(found.kind)
        self._db.execute("insert into report values (?, ?, ?, ?)", (node, rows.sections, rows.facts, found.own))
        came = found.of_gpus
        self._db.executemany("insert into gpu_row values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [
            (node, number, uuid, *fixed,
             celsius if type(celsius) is not _Hole else int(came[celsius.place]),
             watts if type(watts) is not _Hole else float(came[watts.place]))
            for (number, fixed, celsius, watts), uuid in zip(rows.gpus, found.uuids, strict=True)
        ])  # fmt: skip

    def figures(self, node: int, repeat: int, found: Sections) -> None:
        """The measured rates of a report, in one row."""
        if found.values:
            row = (node, repeat, self._rows(found.kind).layout, found.values.decode("ascii"))
            self._db.execute("insert or replace into figure_row values (?, ?, ?, ?)", row)

    def findings(self, node: int, roots: Iterable[tuple[Finding, bool]], repeat: int = 1) -> None:
        rows = [(
            node, number, self.text(f.id), self.text(f.status), self.text(f.layer), storable(f.subject),
            self.text(f.title), None, int(users), self._fix(f),
        ) for number, (f, users) in enumerate(roots, repeat * LOOK)]  # fmt: skip
        self._db.executemany("insert into finding_row values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def duplicate(self, kind: str, nodes: Iterable[str], detail: str) -> None:
        self._db.execute("insert into duplicate values (?, ?, ?)", (kind, ",".join(nodes), detail))

    def refused(self, one: Refused) -> None:
        row = (printed(self._said.path(one.file)), one.line, printed(self._said.text(one.reason)))
        self._db.execute("insert into refused values (?, ?, ?)", row)

    def run(self, row: tuple[Any, ...]) -> None:
        self._db.execute("insert into run values (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def uuids(self, node: int) -> set[str]:
        found = self._db.execute("select uuid from gpu_row where node = ? and uuid is not null", (node,))
        return {uuid for (uuid,) in found}

    def _rows(self, kind: Kind) -> _Rows:
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
            kind.rows = _Rows(
                self._list("report_section", parts), self._list("report_fact", sorted(facts)),
                self._list("figure_slot", slots), gpus,
            )  # fmt: skip
        rows: _Rows = kind.rows
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
                self._db.executemany(f"insert into {table} values ({holes})", [(number, *row) for row in rows])
        return number

    def _gpu(self, kind: Kind, gpu: Gpu, number: int) -> _GpuRow:
        model = short(known(gpu.name) or "")
        fixed = (
            known(gpu.pci_address), self.text(model), _whole(known(gpu.memory_total_mib)), self.text(known(gpu.vbios)),
            known(gpu.power_limit_w), self.text(link_of(gpu)),
        )  # fmt: skip
        celsius, watts = _whole(known(gpu.temperature_c)), known(gpu.power_draw_w)
        places = kind.marks.number_of(celsius), kind.marks.number_of(watts)
        return _GpuRow(
            number, fixed, celsius if places[0] is None else _Hole(places[0]),
            watts if places[1] is None else _Hole(places[1]),
        )  # fmt: skip

    def _section(self, one: Section) -> int:
        number = self._sections.get(one.digest)
        if number is None:
            row = self._db.execute("select id from section where hash = ?", (one.digest,)).fetchone()
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
        cursor = self._db.execute("insert into section (hash, base, content) values (?, ?, ?)", row)
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
                number = int(self._db.execute("insert into fact_set (hash) values (?)", (digest,)).lastrowid or 0)
                rows = [(number, self.text(fact.path), self.text(fact.value)) for fact in facts]
                self._db.executemany("insert into set_fact values (?, ?, ?)", rows)
                self._sets[digest] = number
            self._sets[key] = number
        return number

    def _fix(self, finding: Finding) -> int | None:
        if not finding.fixes:
            return None
        content = msgspec.json.encode(finding.fixes[0])
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if digest not in self._fixes:
            self._fixes[digest] = len(self._fixes) + 1
            row = (self._fixes[digest], digest, content.decode("utf-8"))
            self._db.execute("insert into fix values (?, ?, ?)", row)
        return self._fixes[digest]


def _range(repeat: int) -> tuple[int, int]:
    return repeat * LOOK, (repeat + 1) * LOOK - 1


def node_row(number: int, name: str, cohort: Cohort | None) -> dict[str, Any]:
    """The columns of a node that are known of every one."""
    about: dict[str, Any] = {
        "id": number, "node": name, "state": "answered", "reason": "", "model": None, "gpus": None, "memory_gib": None,
        "arch": None, "driver": None, "verdict": "", "received": 0.0, "generated_at": "", "clock_off_s": None,
        "tool": "", "matrix": "", "judged": "",
    }  # fmt: skip
    if cohort:
        about |= {"model": cohort.model, "gpus": cohort.count, "memory_gib": cohort.memory_gib, "arch": cohort.arch}
    return about


def storable(text: str) -> str:
    """UTF-8, without the halves of characters that JSON can hold and SQLite cannot."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def printed(text: str) -> str:
    """A stranger's words in one line: what is not printable as an escape, cut."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)
    return storable(plain if len(plain) <= 400 else f"{plain[:400]}...")


def _whole(value: int | None) -> int | None:
    """What fits into SQLite's integers."""
    return value if value is None or abs(value) < 1 << 62 else None
