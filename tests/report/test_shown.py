"""What each format shows of sample reports is as it was read last: `python -m tests.report.shown` writes it again."""

from __future__ import annotations

from ..rows import Faults
from .shown import FOLDER, FORMATS, reports, shown


def test_each_format_shows_what_was_read() -> None:
    all_reports = dict(reports())
    with Faults() as faults:
        for format_ in FORMATS:
            with faults.of(format_):
                assert shown(format_, all_reports) == (FOLDER / f"{format_}.txt").read_text("utf-8")
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(FORMATS)
