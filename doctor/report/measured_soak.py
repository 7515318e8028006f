"""The sustained load in a terminal: one line a GPU."""

from __future__ import annotations

from ..findings.measured_soak import Course, courses
from ..judge.report import Report
from .amounts import amount, number
from .clean import printable
from .lines import Line, Span, line, wrap


def soak_lines(report: Report, width: int) -> list[Line]:
    """Empty if none was asked for."""
    found = courses(report.snapshot.measured)
    rows: list[Line] = []
    for course in found:
        text = ", ".join(soak_words(course))
        rows += wrap(text, width, "  ", first=Span(f"{printable(course.device)}  ", "bold"), hang=4)
    seconds = max((course.seconds for course in found), default=0.0)
    return [line(Span(f"Sustained load, {number(seconds)} s", "bold")), *rows] if rows else []


def soak_words(course: Course) -> list[str]:
    """`bf16 742 to 735 TFLOP/s (-1 %)`, `1,980 to 1,755 MHz`, `688 W`, `at most 71 C`, `400 results alike`."""
    rates = f"{course.what} {number(course.first)} at the start, {amount(course.last, course.unit)} at the end"
    words = [f"{rates} ({course.percent:+.0f} %)"]
    if course.clocks:
        words.append(f"{number(course.clocks[0])} to {number(course.clocks[1])} MHz")
    words += [amount(course.power_w, "W")] if course.power_w is not None else []
    words += [f"at most {course.hottest_c} C"] if course.hottest_c is not None else []
    words += [f"{course.compared:,} results compared"] if course.compared else []
    return words
