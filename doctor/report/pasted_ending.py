"""The last lines of a report on a text: how many checks were decided, and the next step."""

from __future__ import annotations

from ..judge.report import Report
from .lines import Line, command, wrap
from .pasted import UNKNOWN_ERROR, leading_cause, leaves_open, open_words, percent

_ON_THAT_MACHINE = "Run this on that machine, append its output to the text, and run gpudoctor explain again:"


def counted(report: Report) -> str:
    """`1 failed, 10 passed of 125 checks; 68 need more facts`."""
    found = {status: sum(c.status == status for c in report.checks) for status in ("fail", "warn", "pass", "unknown")}
    words = [
        f"{found[status]} {word}"
        for status, word in (("fail", "failed"), ("warn", "warned"), ("pass", "passed"))
        if found[status]
    ]
    text = f"{', '.join(words) or 'none decided'} of {len(report.checks)} checks"
    return text + (f"; {found['unknown']} need more facts" if found["unknown"] else "")


def _next_of_open(report: Report) -> str:
    if report.text and report.text.open == "sound":
        return "The text shows nothing wrong. Run gpudoctor check on that machine to examine the rest."
    if report.likely:
        return "The cause is likely, not proven. Run the command above to be sure, or try the fix above."
    return "Not enough to decide. Run the command above on that machine and pass its output to gpudoctor explain."


def next_step(report: Report) -> str:
    """What to do after the report on a text."""
    if report.verdict == "fail":
        return "Apply the fix at the top, then run on that machine: gpudoctor check"
    if report.text and report.text.answers:
        return "Run gpudoctor check on that machine to examine everything."
    if report.verdict == "unknown":
        return _next_of_open(report)
    if (first := leading_cause(report)) and all(f.id != first.id for f in report.findings):
        chance = percent(first.probability)
        return (
            f"No failure is proven. The text may also mean {first.id} ({chance}): gpudoctor explain {first.id}. Run "
            "gpudoctor check on that machine to be sure."
        )
    if report.text and (numbers := report.text.unknown_errors):
        return f"{UNKNOWN_ERROR.format(numbers[0])}. Run gpudoctor check on that machine to examine the rest."
    if report.verdict == "warn":
        return (
            "No failure found in the text, but it has warnings. Run gpudoctor check on that machine to examine "
            "the rest."
        )
    return "The text shows nothing wrong. Run gpudoctor check on that machine to examine the rest."


def open_in_short(report: Report, width: int) -> list[Line]:
    """Of a report that leaves the cause open: what is most likely, and the command that decides it."""
    if first := next((answer for answer in report.text.answers if answer.command), None) if report.text else None:
        return [*wrap(first.text, width, style="bold"), *command(first.command, "  "), *wrap(next_step(report), width)]
    if not leaves_open(report):
        return wrap(next_step(report), width)
    rows = wrap(f"{open_words(report)}.", width, style="bold")
    need = next((need.command for need in report.needs), "gpudoctor check")
    return [*rows, *wrap(_ON_THAT_MACHINE, width), *command(need, "  ")]
