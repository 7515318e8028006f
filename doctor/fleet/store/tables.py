"""The rows of a database that is being written."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

from ...findings import Finding
from ..kinds import Cohort, LinkRow, Refused
from .outside_words import OutsideWords
from .sections import Sections
from .shared import Hole, Shared, storable

OF_NODE = ("report", "figure_row", "finding_row", "gpu_row", "remark_row")
_QUOTED = 80
LOOK = 1_000_000
"""Findings of a repeated measurement are numbered from its number times this on."""


class Tables(Shared):
    """Adds the rows of nodes."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__(db)
        self._fixes: dict[bytes, int] = {}
        self._outside = OutsideWords()

    def node(self, row: dict[str, Any]) -> None:
        """A row of `node`, by column."""
        if row["reason"]:
            row = row | {"reason": self._outside.text(row["reason"])}
        columns = ", ".join(row)
        holes = ", ".join("?" * len(row))
        values = [storable(value) if isinstance(value, str) else value for value in row.values()]
        self.db.execute(f"insert into node ({columns}) values ({holes})", values)

    def why(self, node: int, state: str, reason: str) -> None:
        """Why a node that has a row was not examined."""
        self.db.execute(
            "update node set state = ?, reason = ? where id = ?", (state, storable(self._outside.text(reason)), node)
        )

    def judged(self, node: int, verdict: str, judged: str) -> None:
        self.db.execute("update node set verdict = ?, judged = ? where id = ?", (verdict, judged, node))

    def drop_node(self, node: int) -> None:
        """All rows of a node whose later answer counts."""
        for table in OF_NODE:
            self.db.execute(f"delete from {table} where node = ?", (node,))
        self.db.execute("delete from node where id = ?", (node,))

    def silent(self, node: int, verdict: str, reason: str) -> None:
        """A node that answered, and was not to be examined later: it is compared with no other."""
        self.db.execute(
            "update node set state = 'not-examined', reason = ?, verdict = ?, model = null, gpus = null, "
            "memory_gib = null, arch = null where id = ?", (storable(self._outside.text(reason)), verdict, node),
        )  # fmt: skip

    def drop_base(self, node: int) -> None:
        """The rows of a node, but not the figures and findings of repeated measurements."""
        for table in ("report", "gpu_row", "remark_row"):
            self.db.execute(f"delete from {table} where node = ?", (node,))
        self.db.execute("delete from node where id = ?", (node,))

    def drop_look(self, node: int, repeat: int) -> None:
        """The figures and findings of one repeated measurement."""
        self.db.execute("delete from figure_row where node = ? and repeat = ?", (node, repeat))
        self.db.execute("delete from finding_row where node = ? and number between ? and ?", (node, *_range(repeat)))

    def move_look(self, node: int, repeat: int, to: int) -> None:
        """A repeated measurement is one of another answer of that node."""
        self.db.execute("update figure_row set node = ? where node = ? and repeat = ?", (to, node, repeat))
        self.db.execute(
            "update finding_row set node = ? where node = ? and number between ? and ?", (to, node, *_range(repeat))
        )

    def same_findings(self, node: int) -> None:
        """What several measurements of a node found is stored once."""
        self.db.execute(
            "delete from finding_row as f where f.node = ? and exists (select 1 from finding_row e where "
            "e.node = f.node and e.number < f.number and e.id = f.id and e.status = f.status "
            "and e.subject is f.subject)", (node,),
        )  # fmt: skip

    def remark(self, node: int, kind: str, detail: str) -> None:
        words = self._outside.text(detail) if kind == "silent-before" else detail
        self.db.execute("insert into remark_row values (?, ?, ?)", (node, kind, self.text(words)))

    def report(self, node: int, found: Sections) -> None:
        """The sections of a node's report, its facts and its GPUs."""
        rows = self.rows(found.kind)
        self.db.execute("insert into report values (?, ?, ?, ?)", (node, rows.sections, rows.facts, found.own))
        came = found.of_gpus
        self.db.executemany("insert into gpu_row values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [
            (node, number, uuid, *fixed,
             celsius if type(celsius) is not Hole else int(came[celsius.position]),
             watts if type(watts) is not Hole else float(came[watts.position]))
            for (number, fixed, celsius, watts), uuid in zip(rows.gpus, found.uuids, strict=True)
        ])  # fmt: skip

    def figures(self, node: int, repeat: int, found: Sections) -> None:
        """The measured rates of a report, in one row."""
        if found.values:
            row = (node, repeat, self.rows(found.kind).layout, found.values.decode("ascii"))
            self.db.execute("insert or replace into figure_row values (?, ?, ?, ?)", row)

    def findings(self, node: int, roots: Iterable[tuple[Finding, bool]], repeat: int = 1) -> None:
        rows = [(
            node, number, self.text(f.id), self.text(f.status), self.text(f.layer), storable(f.subject),
            self.text(f.title), None, int(users), self._fix(f),
        ) for number, (f, users) in enumerate(roots, repeat * LOOK)]  # fmt: skip
        self.db.executemany("insert into finding_row values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def duplicate(self, kind: str, nodes: Iterable[str], detail: str) -> None:
        self.db.execute("insert into duplicate values (?, ?, ?)", (kind, ",".join(nodes), detail))

    def masked(self, text: str, most: int) -> str:
        """A collector's words as they are stored, cut once they are masked: half a token is not known as one."""
        return self._outside.text(text)[:most]

    def refused(self, one: Refused) -> str:
        """Returns the reason as it is stored: masked, in one line."""
        file = printed(self._outside.path(one.file))  # first: its folder may say who is a user
        quote = self._outside.text(one.quote)
        cut = quote if len(quote) <= _QUOTED else f"{quote[:_QUOTED]}..."
        reason = printed(self._outside.text(one.reason) + (f": {cut!a}" if cut else ""))
        self.db.execute("insert into refused values (?, ?, ?)", (file, one.line, reason))
        return reason

    def link(self, one: LinkRow) -> None:
        row = [storable(value) if isinstance(value, str) else value for value in one]
        row[-1] = printed(self._outside.text(one.reason))
        self.db.execute("insert into link values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def run(self, row: tuple[Any, ...]) -> None:
        self.db.execute("insert into run values (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _fix(self, finding: Finding) -> int | None:
        if not finding.fixes:
            return None
        content = msgspec.json.encode(finding.fixes[0])
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if digest not in self._fixes:
            self._fixes[digest] = len(self._fixes) + 1
            row = (self._fixes[digest], digest, content.decode("utf-8"))
            self.db.execute("insert into fix values (?, ?, ?)", row)
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


def printed(text: str) -> str:
    """A stranger's words in one line: what is not printable as an escape, cut."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)
    return storable(plain if len(plain) <= 400 else f"{plain[:400]}...")
