"""The last screen: the verdict, what is wrong and why once more, and the first command to type."""

from __future__ import annotations

import re

from ..findings import Finding, Step
from ..findings.strangers import is_of_stranger
from ..judge.report import Report
from ..judge.selection import nothing_to_check
from ..snapshot import known
from .again import AS_BEFORE, again_flags
from .amounts import several
from .blocks import marks
from .groups import exit_words, tally
from .lines import Line, Span, Style, command, wrap

_VERDICT: dict[str, tuple[str, Style]] = {
    "fail": ("FAIL", "fail"), "unknown": ("UNKNOWN", "unknown"), "warn": ("WARN", "warn"), "pass": ("PASS", "pass"),
}  # fmt: skip
_MOST_COMMAND = 6
"""Most lines of a command here: a longer one (a file to write) is shown above, in the fix."""
_MOST_WHY = 200
_WATCHED = ("gpu-path-unused",)
"""Checks of other layers than speed that a watched run decides."""


def verdict(report: Report, width: int, verbose: int, alone: bool = False) -> list[Line]:
    """The result, what the exit code means, and what to do next. alone: nothing is printed above it."""
    word, style = _VERDICT[report.verdict]
    count = tally(report)
    if report.text is not None:
        from . import pasted_ending

        count = count if verbose else pasted_ending.counted(report)
        return [*_first(report, word, style, count, width), *wrap(pasted_ending.next_step(report), width)]
    return [*_first(report, word, style, count, width), *_next(report, width, verbose, alone)]


def in_short(report: Report, width: int) -> list[Line]:
    """The verdict and the first step alone."""
    if report.text is None:
        return verdict(report, width, 0, alone=True)
    from . import pasted, pasted_ending

    word, style = _VERDICT[report.verdict]
    rows = _first(report, word, style, pasted_ending.counted(report), width)
    first = pasted.suspect(report) or next((f for f in report.findings if f.status == report.verdict), None)
    if first is None or (report.verdict == "unknown" and not report.likely):
        return [*rows, *pasted_ending.open_in_short(report, width)]
    rows += wrap(f"{first.title.rstrip('.')}.", width, style="bold")
    if not first.fixes:
        return [*rows, *wrap(f"Cause and fixes: gpudoctor explain {first.id}", width)]
    return [*rows, *_step(first.fixes[0].steps[0], width), *wrap("Then run on that machine: gpudoctor check", width)]


def _first(report: Report, word: str, style: Style, count: str, width: int) -> list[Line]:
    return wrap("; ".join(filter(None, (exit_words(report), count))), width, first=Span(f"{word}  ", style))


def _next(report: Report, width: int, verbose: int, alone: bool) -> list[Line]:
    first = next((f for f in report.findings if f.status == report.verdict), None)
    unknown = sum(c.status == "unknown" for c in report.checks)
    if first is not None:
        rows = [] if report.verdict == "fail" else wrap(_NOT_FAILED[report.verdict], width)
        return [*rows, *_again(first, width), *_type(report, first, width, alone)]
    if unknown:
        rest = "." if verbose else " (-v lists them)."
        return [
            *wrap(f"No problems found, but {several(unknown, 'check')} could not run{rest}", width),
            *_prove(report, width),
        ]
    if nothing_to_check(report):
        return []
    return [*wrap("No problems found.", width), *_prove(report, width)]


_NOT_FAILED = {
    "unknown": "No check failed, but a fact needed for the verdict could not be read.",
    "warn": "No check failed. The first warning:",
}


def _again(first: Finding, width: int) -> list[Line]:
    """What is wrong, and why in a sentence: the report above may be longer than the screen."""
    why = re.split(r"\n|(?<=[.!?])\s+(?=[A-Z])", first.detail)[0] if first.detail else ""
    rows = wrap(f"{first.title.rstrip('.')}.", width, style="bold")
    return rows + (wrap(why, width) if why and len(why) <= _MOST_WHY else [])


def _type(report: Report, first: Finding, width: int, alone: bool) -> list[Line]:
    again = f"gpudoctor {_command(report, first)}"
    step = first.fixes[0].steps[0] if first.fixes else None
    if step is None:
        return wrap(f"Cause and fixes: gpudoctor explain {first.id}", width)
    rows = _step(step, width)
    more = len(first.fixes[0].steps) > 1 or _others(report, first)
    named = " ".join(again.split()[:2]) in step.text  # "... there", which needs different flags
    if (named or step.where == "operator") and not more:
        return rows
    steps = f"{_all_steps(report, alone)} " if more else ""
    return rows + wrap(f"{steps}Then check again: {again}", width)


def _step(step: Step, width: int) -> list[Line]:
    """What to do first, where, and the lines to type."""
    typed = _typed(step)
    if step.where == "operator":
        rows = wrap(step.text, width)
    elif typed and step.where == "environment" and not step.ends and not is_of_stranger(step):  # it says all itself
        rows = wrap(f"Do this first, {marks(step)}:", width)
    else:  # never a command without its condition
        rows = wrap(f"Do this first ({marks(step)}): {step.text}", width)
    return rows + command(typed, "  ") if typed else rows


def _all_steps(report: Report, alone: bool) -> str:
    """`fix` looks at the machine again, and measures nothing."""
    flags = again_flags(report.policy, report.snapshot, "fix")
    if report.target.kind == "live" and known(report.snapshot.measured.level) is None and flags != AS_BEFORE:
        return f"All steps: gpudoctor fix{flags}."
    return "Run without -q for all steps." if alone else "All steps are listed above."


def _others(report: Report, first: Finding) -> bool:
    """Whether a different cause has its own steps."""
    return any(f.fixes and not f.cause and f.id != first.id for f in report.findings)


def _typed(step: Step) -> str:
    """The lines to type, without the comments after them; '' where there are none, or too many for this place."""
    lines = step.command.strip("\n").splitlines()
    end = next((i for i, line in enumerate(lines) if i and line.lstrip().startswith("#")), len(lines))
    return "\n".join(lines[:end]) if end <= _MOST_COMMAND else ""


def _command(report: Report, first: Finding) -> str:
    level, s = known(report.snapshot.measured.level), report.snapshot
    if level == "watch" and (first.layer == "speed" or first.id in _WATCHED):  # it shows again only in such a run
        return f"watch{again_flags(report.policy, s, 'watch')} -- COMMAND"
    word = "prove" if level in ("proof", "quick", "standard", "full") else "check"
    return f"{word}{again_flags(report.policy, s, word)}"


def _prove(report: Report, width: int) -> list[Line]:
    """The checks found nothing; next comes a test that only the GPU itself can pass."""
    s = report.snapshot
    if known(s.measured.level) is not None or not (known(s.gpus) or known(s.driver.cuda_devices)):
        return []
    return wrap(f"To test on the GPU itself: gpudoctor prove{again_flags(report.policy, s, 'prove')}", width)
