"""The rows of `fleet report --query` in each format."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from .clean import printable
from .fleet_csv import defused
from .markdown import escape
from .measured_sheets import Sheet

_WIDEST = 60
"""Columns of a cell up to which the others line up."""


def render_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], format_: str) -> str:
    """As columns, a JSON array of objects, a Markdown table, a page or CSV."""
    if format_ == "json":
        return _json(columns, rows)
    found = [tuple(map(_text, row)) for row in rows]
    if format_ == "csv":
        out = StringIO()
        csv.writer(out, lineterminator="\n").writerows([tuple(map(defused, row)) for row in (columns, *found)])
        return out.getvalue()
    if format_ == "markdown":
        lines = [f"| {' | '.join(map(escape, row))} |" for row in (columns, ["---"] * len(columns), *found)]
        lines[1] = lines[1].replace("\\", "")
        return "\n".join(lines) + "\n"
    if format_ == "html":
        from .page import rendered
        from .page_plain import part, plain

        table = Sheet("", tuple(columns), found)
        parts = [part(filter="Filter rows", sheets=[table])]
        return rendered("gpudoctor fleet: query", plain=plain("Query", f"{len(found):,} rows", parts))
    wide = [min(_WIDEST, max(map(len, column))) for column in zip(columns, *found, strict=True)]
    lines = ["  ".join(f"{cell:<{size}}" for cell, size in zip(row, wide, strict=True)) for row in (columns, *found)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    return "" if value is None else printable(str(value))


def _json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    import msgspec

    found = [
        {
            name: f"{len(value):,} bytes" if isinstance(value, bytes) else value
            for name, value in zip(columns, row, strict=True)
        }
        for row in rows
    ]
    return (msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n").decode()
