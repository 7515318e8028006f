"""How many rows of a terminal a report takes: what one cause alone may take is two screens."""

from __future__ import annotations

from doctor.judge.report import Report
from doctor.report.blocks import cause, families
from doctor.report.clean import printable
from doctor.report.terminal import Display, render_terminal

from ..scenarios.contradictions import LAYERS

COLUMNS, SCREENS = 80, 2 * 24
"""A row of them is for the prompt."""


def height(text: str) -> int:
    """Rows of a terminal; a longer line goes on in the next."""
    return sum(max(1, -(-len(row) // COLUMNS)) for row in text.splitlines())


def too_tall(report: Report) -> str:
    """The whole report where it has one cause, and each cause with what is under it: what is over two screens, or ''."""
    groups = families(report.findings)
    short = render_terminal(report, LAYERS, Display(width=COLUMNS))
    if len(groups) == 1 and height(short) >= SCREENS:
        return f"{height(short)} rows"
    for finding, under in groups:
        rows = cause(finding, under, COLUMNS, 0)
        block = "\n".join("".join(span.text for span in row) for row in rows)
        if height(block) >= SCREENS:
            return f"{finding.id}: {height(block)} rows"
    return ""


def hidden(report: Report) -> list[str]:
    """Titles of findings and remarks that -v does not show either."""
    long = " ".join(render_terminal(report, LAYERS, Display(width=COLUMNS, verbose=1)).split())
    titles = [one.title for one in (*report.findings, *report.remarks)]
    return [title for title in titles if " ".join(printable(title).split()).rstrip(".") not in long]
