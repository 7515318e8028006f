"""The groups of a report: all checks by layer, one line each while nothing is wrong in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..findings import LAYERS, Finding, Layer
from ..findings.reasons import reason_words
from ..judge.judge import NOT_NAMED
from ..judge.report import CheckResult, Report
from ..judge.selection import nothing_to_check
from ..snapshot import Missing, Snapshot, known
from . import facts
from .lines import Line, Span, Style, wrap

MARK: dict[str, tuple[str, Style]] = {
    "pass": ("✓", "pass"), "warn": ("▲", "warn"), "fail": ("✗", "fail"), "unknown": ("?", "unknown"),
    "skipped": ("-", "dim"),
}  # fmt: skip
_WORDS = {"fail": "failed", "warn": "warned", "unknown": "unknown", "pass": "passed", "skipped": "skipped"}
REMARK: tuple[str, Style] = ("i", "dim")
ORDER = ("fail", "warn", "unknown", "pass", "skipped")


class Group(NamedTuple):
    """The checks of one layer."""

    layer: Layer
    status: str
    """The worst that decides the mark: fail, warn, unknown, pass, or skipped where nothing was judged."""
    checks: tuple[CheckResult, ...]


def groups(report: Report, layers: Mapping[str, Layer]) -> list[Group]:
    """All layers that have checks, in the order from the hardware up; `layers` is the catalogue's id to layer."""
    found = []
    for layer in LAYERS:
        checks = tuple(c for c in report.checks if layers.get(c.id) == layer)
        if checks:
            status = next(s for s in ORDER if any(c.status == s for c in checks))
            found.append(Group(layer, status, checks))
    return found


def counted(checks: tuple[CheckResult, ...]) -> str:
    """`1 failed, 2 unknown, 12 passed, 3 skipped`."""
    counts = {status: sum(c.status == status for c in checks) for status in ORDER}
    return ", ".join(f"{count} {_WORDS[status]}" for status, count in counts.items() if count) or "no checks"


def tally(report: Report) -> str:
    """What became of all checks, or why there was nothing to check."""
    return nothing_to_check(report) or counted(report.checks)


def sound_words(report: Report) -> str:
    """A sentence for a report without findings."""
    if nothing := nothing_to_check(report):
        return f"{nothing[0].upper()}{nothing[1:]}."
    # what could not be examined may be the problem
    found = "No check failed" if any(c.status == "unknown" for c in report.checks) else "No problems found"
    return f"{found}: {counted(report.checks)}."


def group_lines(report: Report, layers: Mapping[str, Layer], width: int, verbose: int) -> list[Line]:
    """One line per group; with -v each check under it, as text."""
    rows: list[Line] = []
    for group in groups(report, layers):
        mark, style = MARK[group.status]
        about = summary(report.snapshot, group.layer)
        text = f"{about}; {counted(group.checks)}" if about else counted(group.checks)
        rows += wrap(text, width, first=Span(f"{mark} {group.layer:<10} ", style))
        if verbose:
            # The user named what to look at with --only: the group's count is enough for all the others.
            named = [check for check in group.checks if check.reason != NOT_NAMED]
            for check in sorted(named, key=lambda c: (ORDER.index(c.status), c.id)):
                rows += _check(check, width)
    return rows


def _check(check: CheckResult, width: int) -> list[Line]:
    """`✓ The driver is loaded [driver-not-loaded]`: a mark never stands before the name of a fault that is absent."""
    mark, style = REMARK if check.remarked else MARK[check.status]
    return wrap(f"{in_words(check)} [{check.id}]", width, "    ", first=Span(f"{mark} ", style))


def in_words(check: CheckResult) -> str:
    """What the check found, or why it could not judge or does not apply."""
    if check.status == "skipped":
        return f"{'Not checked' if check.skip == 'not-examined' else 'Does not apply'}: {check.reason}"
    return f"Unknown: {reason_words(check.reason)}" if check.status == "unknown" else check.words or check.id


def summary(s: Snapshot, layer: Layer) -> str:
    """The facts that name a layer, in a few words."""
    if layer == "hardware":
        return facts.gpus(s)
    if layer == "driver":
        words = [facts.driver(s)]
        if not isinstance(s.driver.cu_init, Missing):
            words.append("cuInit ok" if s.driver.cu_init == 0 else f"cuInit {s.driver.cu_init}")
        return ", ".join(words).removeprefix("driver ")
    if layer == "container":
        kind = known(s.container.kind)
        return "" if kind is None else {"none": "no container", "other": "in a container"}.get(kind, kind)
    if layer == "libraries":
        version = known(s.torch.cudnn_bundled)
        return f"cuDNN {version}" if version else ""
    if layer == "python":
        version = known(s.python.patient.version)
        return ", ".join(word for word in (f"Python {version}" if version else "", facts.torch(s)) if word)
    if layer == "extension" and not isinstance(s.python.extensions, Missing):
        names = list(dict.fromkeys(library.package for library in s.python.extensions if library.package))
        return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return ""


def remark_texts(report: Report) -> list[str]:
    """Title and detail of each remark; what several GPUs share, once."""
    return list(dict.fromkeys(map(remark_text, report.remarks)))


def remark_text(remark: Finding) -> str:
    """`Driver branch 550 ended on 2025-02. It still works ...`."""
    return f"{remark.title}. {remark.detail}".rstrip()


def exit_words(report: Report) -> str:
    """`exit 1`; empty for a watched run, whose exit code is the command's, and `interrupted` for a run that was."""
    if report.snapshot.measured.interrupted:
        return "interrupted"
    return "" if report.snapshot.measured.level == "watch" else f"exit {report.exit_code}"
