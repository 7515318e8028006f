"""Rows of the matrix that a finding is based on, for people."""

from __future__ import annotations

from collections.abc import Iterable

from ..judge.report import MatrixRow, Report
from .lines import Line, Span, wrap


def rows_behind(report: Report, ids: Iterable[str]) -> list[MatrixRow]:
    """The rows that these checks looked up, each once."""
    wanted = set(ids)
    return list(dict.fromkeys(row for check in report.checks if check.id in wanted for row in check.rows))


def matrix_lines(report: Report, ids: Iterable[str], width: int) -> list[Line]:
    """A line for each: table, row, source and how sure it is."""
    rows: list[Line] = []
    for row in rows_behind(report, ids):
        text = f"{row.table} {row.row}: {row.source} ({row.confidence})"
        rows += wrap(text, width, "  ", first=Span("Matrix: ", "bold"), style="dim")
    return rows
