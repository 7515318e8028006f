"""The report for a terminal: root cause first, then the groups, then the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..findings import Layer
from ..judge.report import Report
from ..snapshot import known
from . import facts
from .blocks import cause, families
from .groups import counted, exit_words, group_lines
from .lines import BLANK, Line, Span, Style, coloured, line, plain, wrap

SMI_NOTE = "The CUDA version that nvidia-smi shows is the highest that the driver supports, not what is installed."
_VERDICT: dict[str, tuple[str, Style]] = {
    "fail": ("FAIL", "fail"), "unknown": ("UNKNOWN", "unknown"), "warn": ("WARN", "warn"), "pass": ("PASS", "pass"),
}  # fmt: skip


class Look(NamedTuple):
    """How to write: columns, -v count, ASCII only, colour."""

    width: int = 80
    verbose: int = 0
    ascii_: bool = False
    colour: bool = False


def render_terminal(
    report: Report, layers: Mapping[str, Layer], look: Look = Look(), titles: Mapping[str, str] | None = None  # noqa: B008
) -> str:
    """The whole report; `layers` and `titles` are the catalogue's check id to layer, and to title."""
    width = max(40, min(look.width, 110))
    rows = [*header(report, width), BLANK]
    if known(report.snapshot.measured.level) is not None:
        from .measured_blocks import measured_lines

        rows += [*measured_lines(report, width, look.verbose), BLANK]
    pasted = report.target.kind == "text"
    rows += _told_causes(report, titles or {}, width, look.verbose) if pasted else _causes(report, width, look.verbose)
    if look.verbose or not pasted:
        rows += [*group_lines(report, layers, width, look.verbose), BLANK]
    for remark in report.remarks:
        text = f"{remark.title}. {remark.detail}" if remark.detail else remark.title
        rows += wrap(text, width, first=Span("i ", "dim"), style="dim")
    rows += [BLANK] if report.remarks else []
    if look.verbose > 1:
        from .everything import fact_lines

        rows += [*fact_lines(report.snapshot, width), BLANK]
    rows += verdict(report, width, look.verbose)
    return coloured(rows, look.ascii_) if look.colour else plain(rows, look.ascii_)


def _causes(report: Report, width: int, verbose: int) -> list[Line]:
    rows: list[Line] = []
    for index, (root, under) in enumerate(families(report.findings)):
        rows += _also(index)
        rows += [*cause(root, under, width, verbose), BLANK]
    return rows


def _told_causes(report: Report, titles: Mapping[str, str], width: int, verbose: int) -> list[Line]:
    """The same for a pasted text: with the lines of it that a cause rests on, and what it leaves open first."""
    from . import told

    rows: list[Line] = []
    if open_ := told.leaves_open(report):
        if first := told.suspect(report):
            rows += [*cause(first, [], width, verbose), BLANK]
        rows += [*told.open_lines(report, titles, width), BLANK]
    for index, (root, under) in enumerate(families(told.worth_telling(report)), start=1 if open_ else 0):
        rows += _also(index)
        rows += [*cause(root, under, width, verbose, told.lines_of(root, report.snapshot)), BLANK]
    return rows


def _also(index: int) -> list[Line]:
    return [line(Span("Also found", "bold")), BLANK] if index == 1 else []


def header(report: Report, width: int) -> list[Line]:
    """Which machine and which patient, in two or three lines."""
    s = report.snapshot
    versions = [f"gpudoctor {report.tool.version}", f"matrix {report.matrix.version}"]
    if report.target.kind == "text":
        from . import told

        return packed([*told.origin(report), *versions], width, "dim") + packed(told.named(s), width, "bold")
    kind = "" if report.target.kind == "live" else f" ({report.target.kind} {report.target.name})".replace(" )", ")")
    rows = packed([facts.place(s) + kind, *versions], width, "dim")
    highest = facts.cuda(s)
    driver = facts.driver(s) + (f" (CUDA up to {highest})" if highest else "")
    rows += packed([facts.gpus(s), driver, facts.torch(s), facts.python(s)], width, "bold")
    built = known(s.torch.cuda)
    if highest and built and built != highest:
        rows += wrap(SMI_NOTE, width, style="dim")
    return rows


def packed(parts: list[str], width: int, style: Style) -> list[Line]:
    """Parts with a dot between them, as many on a line as fit; no part is broken that fits on a line."""
    rows: list[Line] = []
    row = ""
    for part in parts:
        if row and len(row) + 3 + len(part) > width:
            rows += wrap(row, width, style=style)
            row = part
        else:
            row = f"{row} · {part}" if row else part
    return rows + wrap(row, width, style=style)


def verdict(report: Report, width: int, verbose: int) -> list[Line]:
    """What it comes to, what the exit code says, and what to do next."""
    word, style = _VERDICT[report.verdict]
    s = report.snapshot
    watched = s.measured.level == "watch"
    count = counted(report.checks)
    told_next = ""
    if report.target.kind == "text":
        from . import told

        told_next = told.next_step(report)
        count = count if verbose else told.counted(report)
    rows = wrap("; ".join(filter(None, (exit_words(report), count))), width, first=Span(f"{word}  ", style))
    if told_next:
        return rows + wrap(told_next, width)
    unknown = any(c.status == "unknown" for c in report.checks)
    if report.verdict == "fail":
        proven = known(s.measured.level) in ("proof", "quick", "standard", "full")
        command = "watch" if watched else "prove" if proven else "check"
        again = f"Carry out the fix at the top, then run: gpudoctor {command}"
    elif report.verdict == "unknown":
        again = "Nothing failed, but something that is needed for a verdict could not be read: see above."
    elif unknown:
        again = "Nothing failed. Not everything could be looked at" + ("." if verbose else ": -v shows what.")
    elif report.verdict == "warn":
        again = "Nothing failed; mind the warnings above."
    else:
        again = "Nothing failed in what was looked at."
    return rows + wrap(again, width)
