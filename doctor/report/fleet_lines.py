"""Lines of a fleet's report: node names that are broken at commas, rows in columns, what -v would add."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .clean import printable
from .fleet_slow import SlowCells
from .fleet_words import Row
from .lines import Line, Span, line, wrap

MOST = 12
"""Rows of a section without -v."""
_MOST_LINES = 4
"""Lines of node names of one repair without -v."""


class Shown(NamedTuple):
    """How to write: columns, and whether all of it."""

    width: int
    all_: bool
    path: str
    """The database, for the commands that the report names."""


def names(text: str, how: Shown, indent: str) -> list[Line]:
    """Nodesets, broken after a comma where they are longer than a line."""
    room, rows, row = how.width - len(indent), [], ""
    for piece in re.findall(r"[^,]*,?", printable(text)):
        if row and len(row) + len(piece.rstrip()) > room:
            rows.append(row)
            row = piece.lstrip()
        else:
            row += piece
    lines = [line(f"{indent}{one}".rstrip()) for one in [*rows, row]]
    if how.all_ or len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], line(Span(f"{indent}... (-v lists all)", "dim"))]


def columns(found: Sequence[Row], how: Shown) -> list[Line]:
    """Label, value, nodes: in columns where they fit, else the nodes below."""
    label = min(24, max((len(printable(row.label)) for row in found), default=0))
    middle = min(48, max((len(printable(row.text)) for row in found), default=0))
    rows: list[Line] = []
    for row in found:
        text, nodes = printable(row.text), printable(row.nodes)
        left = f"  {printable(row.label):<{label}}  {text:<{middle}}"
        if len(left) + 2 + len(nodes) <= how.width:
            rows.append(line(f"{left}  {nodes}"))
            continue
        whole = left.rstrip()
        rows += [line(whole)] if len(whole) <= how.width else wrap(whole.strip(), how.width, "  ", hang=label + 4)
        rows += names(row.nodes, how, " " * (label + 4))
    return rows


def cells(found: Sequence[SlowCells], how: Shown) -> list[Line]:
    wide = [max((len(printable(row[column])) for row in found), default=0) for column in range(5)]
    rows: list[Line] = []
    for row in found:
        node, where, what, value = (f"{printable(cell):<{wide[column]}}" for column, cell in enumerate(row[:4]))
        left = f"  {node}  {where}  {what} {value}  {row.change:>{wide[4]}}"
        if len(left) + 2 + len(row.note) <= how.width:
            rows.append(line(left, Span(f"  {row.note}", "dim")))
        else:
            rows += [line(left)] if len(left) <= how.width else wrap(left, how.width, "  ")
            rows += wrap(row.note, how.width, "      ", style="dim")
    return rows


def sides(rows: list[Line], right: str, width: int) -> list[Line]:
    """Lines with a text at the right end of the first."""
    used = sum(len(span.text) for span in rows[0])
    return [(*rows[0], Span(f"{right:>{max(len(right) + 2, width - used)}}")), *rows[1:]]


def more(count: int, how: Shown) -> list[Line]:
    left = count - MOST
    return [line(Span(f"  {left:,} more (-v)", "dim"))] if left > 0 and not how.all_ else []
