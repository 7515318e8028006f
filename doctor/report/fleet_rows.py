"""The rows of `fleet report --query` in each format, as they come: a table of a fleet may have millions."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import islice
from typing import Any

from .clean import printable
from .fleet_csv import defused
from .markdown import escape
from .measured_sheets import Sheet

_WIDEST = 60
"""Columns of a cell up to which the others line up."""
_LOOKED_AT = 1000
"""Rows by which the columns line up."""
_BLOCK = 1 << 16
"""Characters that are given on together."""


def render_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], format_: str) -> Iterator[str]:
    """As columns, a JSON array of objects, a Markdown table, a page or CSV, in parts. A page holds all rows at once."""
    makers = {"json": _json, "csv": _csv, "markdown": _markdown, "html": _page}
    held, size = [], 0
    for text in makers.get(format_, _columns)(columns, rows):
        held.append(text)
        size += len(text)
        if size > _BLOCK:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield _csv_line(columns)
    yield from (_csv_line(list(map(_text, row))) for row in rows)


def _csv_line(cells: Sequence[str]) -> str:
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerow(tuple(map(defused, cells)))
    return out.getvalue()


def _markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(map(escape, columns))} |\n"
    yield f"| {' | '.join(['---'] * len(columns))} |\n"
    yield from (f"| {' | '.join(escape(_text(cell)) for cell in row)} |\n" for row in rows)


def _page(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    from .page import rendered
    from .page_plain import part, plain

    found = [tuple(map(_text, row)) for row in rows]
    parts = [part(filter="Filter rows", sheets=[Sheet("", tuple(columns), found)])]
    yield rendered(
        "gpudoctor fleet: query", plain=plain("Query", "1 row" if len(found) == 1 else f"{len(found):,} rows", parts)
    )


def _columns(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    texts = (tuple(map(_text, row)) for row in rows)
    first = list(islice(texts, _LOOKED_AT))
    wide = [min(_WIDEST, max(map(len, column))) for column in zip(columns, *first, strict=True)]
    for some in ((tuple(columns), *first), texts):
        for row in some:
            yield "  ".join(f"{cell:<{size}}" for cell, size in zip(row, wide, strict=True)).rstrip() + "\n"


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    return "" if value is None else printable(str(value))


def _json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    import msgspec

    before = "["
    for row in rows:
        found = {
            name: f"{len(value):,} bytes" if isinstance(value, bytes) else value
            for name, value in zip(columns, row, strict=True)
        }
        text = msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
        yield f"{before}\n  " + text.replace("\n", "\n  ")
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"
