"""Rows of a label, a bar, a number with its unit and a remark, in columns that fit a terminal."""

from __future__ import annotations

from typing import NamedTuple

from .bars import bar, stacked
from .clean import printable
from .lines import Line, Span, Style, wrap

_GAP = 2
_WIDEST, _USUAL, _NARROWEST = 34, 16, 8
"""Columns of a bar: at most, at least if there are notes next to it, and at least in any case."""


class Row(NamedTuple):
    """One row. `share` fills a bar, `parts` stack one; neither: the row has none."""

    label: str
    number: str
    unit: str = ""
    note: str = ""
    share: float | None = None
    parts: tuple[float, ...] = ()
    mark: tuple[str, Style] = ("", "")
    """Before the note: a sign for what is not as it should be."""


def table(rows: list[Row], width: int, indent: str = "  ") -> list[Line]:
    """Bars of one length; a note that does not fit next to its bar goes on the lines below."""
    labels = max((len(printable(row.label)) for row in rows), default=0)
    numbers = max((len(row.number) for row in rows), default=0)
    units = max((len(printable(row.unit)) for row in rows), default=0)
    room = width - len(indent) - labels - _GAP - numbers - 1 - units
    columns = _columns([len(_note(row)) for row in rows], room) if any(_barred(row) for row in rows) else 0
    beside = room - (columns + _GAP if columns else 0) - _GAP
    found: list[Line] = []
    for row in rows:
        spans = [Span(f"{indent}{printable(row.label):<{labels}}" + " " * _GAP)]
        spans += _bar(row, columns) if columns else []
        spans.append(Span(f"{row.number:>{numbers}} {printable(row.unit):<{units}}"))
        sign, style = row.mark
        note = len(_note(row))
        if 0 < note <= beside:
            spans += [Span(" " * _GAP), *([Span(sign + " ", style)] if sign else []), Span(printable(row.note), "dim")]
        found.append(tuple(spans))
        if note > max(0, beside):
            found += wrap(row.note, width, indent + "  ", first=Span(sign + " ", style) if sign else "", style="dim")
    return found


def _columns(notes: list[int], room: int) -> int:
    """How long the bars are: notes narrow enough for a usual bar go next to it, longer ones below."""
    short = [note for note in notes if note and note <= room - _USUAL - 2 * _GAP]
    columns = room - _GAP - (max(short) + _GAP if short else 0)
    return 0 if columns < _NARROWEST else min(_WIDEST, columns)


def _barred(row: Row) -> bool:
    return row.share is not None or bool(row.parts)


def _bar(row: Row, columns: int) -> list[Span]:
    if row.parts:
        return [Span(f"{stacked(row.parts, columns):<{columns}}" + " " * _GAP)]
    if row.share is None:
        return [Span(" " * (columns + _GAP))]
    filled, rest = bar(row.share, columns)
    return [Span(filled), Span(rest, "dim"), Span(" " * _GAP)]


def _note(row: Row) -> str:
    return f"{row.mark[0]} {printable(row.note)}".strip() if row.mark[0] else printable(row.note)
