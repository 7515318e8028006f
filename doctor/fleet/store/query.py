"""What a user asks of a fleet's database: a query of SQL, and one node's report as it was gathered."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from threading import Timer
from typing import Any, NamedTuple

import msgspec

from ...formats.given import Unopened
from ...guard import Refusal
from ...judge.saved import READING, Saved
from ...snapshot import Snapshot
from .opened import DAMAGE, connect
from .rates import join_rates
from .section import HEAD, RATES, Head, unpacked

DEADLINE_S = 60.0
"""For a query, reading its rows included."""
_STEPS = 20_000
"""Of SQLite's machine between two moments at which Ctrl-C is seen: some milliseconds."""
_LIMIT_LENGTH, _MOST_CHARACTERS = 0, 1 << 18
"""SQLITE_LIMIT_LENGTH: of one value that a query makes. instr and replace take the square of it (2 s for this one), and
nothing can stop them before they end."""
_MOST_BYTES = 64 << 20
DAMAGED = (*READING, zlib.error, ValueError, KeyError, TypeError, IndexError, AttributeError)
"""What reading a damaged report raises."""
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
_REFUSED_FUNCTIONS = ("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_compileoption_get")


class Rows(NamedTuple):
    """The answer to a query."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
    """Raises Refusal if the deadline passes or the query fails on the way. Values: text, numbers, bytes, None."""


def ask(path: str, sql: str, deadline_s: float = DEADLINE_S) -> Rows:
    """The rows of one query of SQL that only reads. Raises Refusal with one line for any other, or a file that is
    none."""
    try:
        db = connect(path)
    except Unopened as error:
        raise Refusal(str(error)) from None
    limit: Any = getattr(db, "setlimit", None)  # from Python 3.11 on
    if limit is not None:
        limit(_LIMIT_LENGTH, _MOST_CHARACTERS)
    db.set_authorizer(_authorize)
    db.set_progress_handler(lambda: 0, _STEPS)
    deadline = Timer(deadline_s, db.interrupt)  # seen at each turn of a loop, a handler only after its steps
    deadline.daemon = True
    deadline.start()
    try:
        cursor = db.execute(sql)
    except (*DAMAGE, sqlite3.Warning, ValueError, MemoryError) as error:
        _end(db, deadline)
        raise _refusal(error, deadline_s) from None
    if cursor.description is None:
        _end(db, deadline)
        raise Refusal("--query accepts one SELECT")
    columns = tuple(str(column[0]) for column in cursor.description)
    return Rows(columns, _fetched(db, cursor, deadline, deadline_s))


def saved_of(path: str, name: str) -> tuple[Saved, ...]:
    """The reports of a node, to be judged as `check --from` does; several where several machines have the name, the
    one in the worst state last.

    Raises Refusal with one line if there is none, or it cannot be read.
    """
    with _opened(path) as db:
        found = db.execute(
            "select id, exists (select 1 from report r where r.node = n.id), reason from node n where node = ? "
            "order by case verdict when 'fail' then 3 when 'unknown' then 2 when 'warn' then 1 else 0 end, id", (name,),
        ).fetchall()  # fmt: skip
        if not found:
            raise Refusal(f"{path} has no node {name!r}")
        numbers = [number for number, answered, _ in found if answered]
        if not numbers:
            raise Refusal(f"{name} has no report: {found[0][2] or 'no answer'}")
        try:
            return tuple(_saved(db, number) for number in numbers)
        except DAMAGED as error:
            raise Refusal(f"the report of {name} in {path} is damaged: {error}") from None


def kinds_of(path: str) -> Iterator[tuple[tuple[int, ...], Snapshot]]:
    """(ids of nodes, the Snapshot of one of them) for all nodes whose reports differ in nothing but numbers that change
    by themselves and UUIDs. Raises Refusal with one line if it cannot be read."""
    with _opened(path) as db:
        nodes: dict[int, list[int]] = {}
        for sections, node in db.execute("select sections, node from report order by node"):
            nodes.setdefault(sections, []).append(node)
        for some in nodes.values():
            try:
                yield tuple(some), _saved(db, some[0]).snapshot
            except DAMAGED as error:
                raise Refusal(f"a report in {path} is damaged: {error}") from None


class _opened:
    """`with _opened(path) as db:`; what SQLite says of a damaged file is one line."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        try:
            self._db = connect(self._path)
        except Unopened as error:
            raise Refusal(str(error)) from None
        return self._db

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        self._db.close()
        if isinstance(error, DAMAGE):
            raise Refusal(f"{self._path} cannot be read as a fleet database: {error}") from None


def _saved(db: sqlite3.Connection, number: int) -> Saved:
    rows = db.execute(
        "select t.value, s.content, b.content from report r join report_section l on l.list = r.sections join text t "
        "on t.id = l.part join section s on s.id = l.section left join section b on b.id = s.base where r.node = ?",
        (number,),
    )
    parts = {name: _unpacked(content, _unpacked(base, b"") if base else b"") for name, content, base in rows}
    head, rates = msgspec.json.decode(parts.pop(HEAD), type=Head), parts.pop(RATES, b"")
    ((own,),) = db.execute("select own from report where node = ?", (number,))
    parts, targets = unpacked(own, parts)
    if rates:
        ((values,),) = db.execute("select value from figure_row where node = ? order by repeat limit 1", (number,))
        measured = parts.get("measured", b"{}")
        begin = b'{"rates":%b' % join_rates(rates, values.encode()) + (b"," if len(measured) > 2 else b"")
        parts["measured"] = begin + measured[1:]
    snapshot = _snapshot(parts).replace({"target": targets.snapshot})
    return Saved(head.schema_version, head.tool, snapshot, targets.report, head.policy, head.redacted)


def _snapshot(parts: dict[str, bytes]) -> Snapshot:
    data = b",".join(b'"%b":%b' % (name.encode("ascii"), content) for name, content in parts.items())
    return msgspec.json.decode(b"{%b}" % data, type=Snapshot)


def _unpacked(content: bytes, base: bytes) -> bytes:
    """Raises zlib.error, ValueError."""
    inflate = zlib.decompressobj(zdict=base[-32_768:]) if base else zlib.decompressobj()
    data = inflate.decompress(content, _MOST_BYTES)
    if not inflate.eof:
        raise ValueError("a section is truncated")
    return data


def _authorize(action: int, first: str | None, second: str | None, *rest: object) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and str(second).lower() not in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _end(db: sqlite3.Connection, deadline: Timer) -> None:
    deadline.cancel()
    deadline.join()  # its call, if it has begun, needs the open database
    db.close()


def _fetched(
    db: sqlite3.Connection, cursor: sqlite3.Cursor, deadline: Timer, deadline_s: float
) -> Iterator[tuple[Any, ...]]:
    try:
        yield from cursor
    except (*DAMAGE, MemoryError) as error:
        raise _refusal(error, deadline_s) from None
    finally:
        _end(db, deadline)


def _refusal(error: Exception, deadline_s: float) -> Refusal:
    words = str(error)
    if words == "interrupted":
        return Refusal(f"--query did not finish within {deadline_s:g} s")
    if words in ("not authorized", "authorization denied") or "prohibited" in words:
        return Refusal("--query is read-only: one SELECT over the tables and views in docs/fleet.md")
    if "one statement" in words:
        return Refusal("--query accepts one SELECT")
    return Refusal(f"--query: {words or 'too little memory'}")
