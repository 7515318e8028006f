"""How many rows of a terminal each cause of a report takes."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.judge.report import Report
from doctor.report.blocks import cause, families

from .take import COLUMNS


def heights(report: Report) -> Iterator[tuple[str, int]]:
    """(id, rows) of each cause as `check` prints it, with what is folded under it; a longer line goes on in the next."""
    for finding, under in families(report.findings):
        texts = ["".join(span.text for span in line) for line in cause(finding, under, COLUMNS, 0)]
        yield finding.id, sum(max(1, -(-len(text) // COLUMNS)) for text in texts)
