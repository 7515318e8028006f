"""What an importer found, against the rows that are there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..lint import CONFIDENCE
from ..tables import KEYS


class Found(NamedTuple):
    """Fields of one row as a publisher has them. key: the columns of `lint.KEYS`, in their order."""

    table: str
    key: tuple[str, ...]
    fields: dict[str, Any]
    source: str
    """Text for sources.json: where it was read, and when; '' where a row keeps its own, for what else it says."""
    confidence: str = "measured"


class Change(NamedTuple):
    """One difference. kind: new (no such row), other (its values differ), kept (other, but the row is surer: the
    publisher contradicts it, and a person has to judge)."""

    kind: str
    found: Found
    before: dict[str, Any]

    def lines(self) -> list[str]:
        """For people: the row and each field, before and after."""
        name = f"{self.found.table} {' '.join(self.found.key)}"
        if self.kind == "new":
            return [f"{name}: new: {json.dumps(self.found.fields, ensure_ascii=False)}"]
        why = f" (kept: the row is {self.before['confidence']}, this is {self.found.confidence})"
        return [
            f"{name}: {field}: {_plain(self.before.get(field))} -> {_plain(value)}{why if self.kind == 'kept' else ''}"
            for field, value in self.found.fields.items()
            if _differs(self.before, field, value)
        ]


def _differs(row: dict[str, Any], field: str, value: Any) -> bool:
    """Empty fields are left out of the files."""
    return (row.get(field) or "") != (value or "")


def _plain(value: Any) -> str:
    return "(none)" if value in (None, "", []) else json.dumps(value, ensure_ascii=False)


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table as they stand in its file. Raises OSError, ValueError."""
    rows: list[dict[str, Any]] = json.loads((folder / f"{table}.json").read_text("utf-8"))
    return rows


def compare(found: Iterable[Found], folder: Path) -> list[Change]:
    """What differs from the data files in `folder`."""
    tables: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    changes = []
    for one in found:
        if one.table not in tables:
            columns = KEYS[one.table]
            tables[one.table] = {tuple(str(row[c]) for c in columns): row for row in rows_of(folder, one.table)}
        row = tables[one.table].get(one.key)
        if row is None:
            changes.append(Change("new", one, {}))
        elif any(_differs(row, field, value) for field, value in one.fields.items()):
            surer = CONFIDENCE.index(row["confidence"]) < CONFIDENCE.index(one.confidence)
            changes.append(Change("kept" if surer else "other", one, row))
    return changes


def write(changes: Iterable[Change], folder: Path, force: bool = False) -> int:
    """Put the changes into the data files, a row in a line, with their sources; returns how many were put there.

    New rows go behind the last one: their order, and columns that the publisher does not name, are for a person.
    """
    wanted = [change for change in changes if change.kind != "kept" or force]
    sources: dict[str, str] = json.loads((folder / "sources.json").read_text("utf-8"))
    for table in {change.found.table for change in wanted}:
        rows = rows_of(folder, table)
        columns = KEYS[table]
        by_key = {tuple(str(row[c]) for c in columns): row for row in rows}
        for change in (c for c in wanted if c.found.table == table):
            row = by_key.get(change.found.key)
            if row is None:
                row = dict(zip(columns, change.found.key, strict=True))
                rows.append(row)
            row.update(change.found.fields)
            for field in [name for name, value in row.items() if value in (None, "", [], {})]:
                del row[field]
            if change.found.source:
                row.update(source=_source_key(change.found.source, sources), confidence=change.found.confidence)
        text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / f"{table}.json").write_text(f"[\n{text}\n]\n", "utf-8")
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in sorted(sources.items()))
    (folder / "sources.json").write_text(f"{{\n{lines}\n}}\n", "utf-8")
    return len(wanted)


def mark_read(found: Iterable[Found], folder: Path, day: str) -> None:
    """Note in `publishers` the day on which the tables of these rows (of these packages) were compared."""
    read = {(one.table, package) for one in found for package in ("", _package(one))}
    rows = rows_of(folder, "publishers")
    for row in rows:
        if (row["table"], row.get("package", "")) in read:
            row["read_date"] = day
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / "publishers.json").write_text(f"[\n{text}\n]\n", "utf-8")


def _package(found: Found) -> str:
    """'vllm' of a row of `extensions`; '' where the table has no such column."""
    columns = KEYS[found.table]
    return found.key[columns.index("package")] if "package" in columns else ""


def _source_key(text: str, sources: dict[str, str]) -> str:
    """The key of a source's text, put there where it is not yet."""
    for key, known in sources.items():
        if known == text:
            return key
    base = re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")[:60]
    key, number = base, 2
    while key in sources:
        key, number = f"{base}-{number}", number + 1
    sources[key] = text
    return key
