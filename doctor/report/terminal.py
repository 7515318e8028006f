"""The report for a terminal: root cause first, then the groups, then the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..findings import Finding, Layer
from ..judge.report import Report
from ..snapshot import known
from . import facts
from .amounts import several
from .blocks import cause, families
from .clean import printable
from .ending import in_short, verdict
from .groups import group_lines, remark_text
from .lines import BLANK, Line, Span, Style, coloured, line, plain, wrap
from .own_error import own_error
from .waiting import waiting_lines

SMI_NOTE = "The CUDA version that nvidia-smi shows is the highest that the driver supports, not the installed version."
_NOTE = Span("i ", "dim")
_REACH = ("looked-at-in-part", "no-nvidia-gpu", "gpu-fell-off-bus", "cuda-lists-fewer-gpus")
"""Checks whose remark says how far the verdict reaches."""
_OF_INTEREST = ("gpu-memory-in-use",)
"""Checks whose remark answers what people come with: nothing is wrong with the machine, and their program runs out of
memory."""


class Display(NamedTuple):
    """How to write: columns, -v count, ASCII only, color, only the verdict and the first step."""

    width: int = 80
    verbose: int = 0
    ascii_: bool = False
    colour: bool = False
    quiet: bool = False

    def written(self, rows: Sequence[Line]) -> str:
        """The lines as text."""
        return coloured(list(rows), self.ascii_) if self.colour else plain(list(rows), self.ascii_)


def render_terminal(
    report: Report,
    layers: Mapping[str, Layer],
    display: Display = Display(),  # noqa: B008
    titles: Mapping[str, str] | None = None,
) -> str:
    """The whole report; `layers` and `titles` are the catalogue's check id to layer, and to title."""
    width = max(40, min(display.width, 110))
    if display.quiet:
        return display.written(in_short(report, width))
    rows = _rows(report, layers, width, display.verbose, titles or {}, 0)
    folds = 0
    while folds < _FOLDS and _may_fold(report, display.verbose) and _tall(rows, width) > _TWO_SCREENS:
        folds += 1
        rows = _rows(report, layers, width, display.verbose, titles or {}, folds)
    return display.written(rows)


_TWO_SCREENS = 2 * 24 - 1
"""Rows that a report of one cause may take, with a row for the prompt."""
_FOLDS = 3


def _may_fold(report: Report, verbose: int) -> bool:
    measured = known(report.snapshot.measured.level) is not None  # its tables are what was asked for
    return not (verbose or report.text or measured) and len(families(report.findings)) == 1


def _tall(rows: Sequence[Line], width: int) -> int:
    """Rows of a terminal; a command that is longer goes on in the next."""
    return sum(max(1, -(-sum(len(span.text) for span in row) // width)) for row in rows)


def _rows(
    report: Report, layers: Mapping[str, Layer], width: int, verbose: int, titles: Mapping[str, str], folds: int
) -> list[Line]:
    """The report's lines. folds: 1 counts the notes, 2 the groups of checks too, 3 what follows from the cause too."""
    rows = [*header(report, width), BLANK]
    rows += _host_beside(report, width)
    if known(report.snapshot.measured.level) is not None:
        from .measured_blocks import measured_lines

        rows += [*measured_lines(report, width, verbose), BLANK]
    if report.text:
        rows += _text_causes(report, titles, width, verbose)
    else:
        rows += _causes(report, width, verbose, folds > 2)
    if verbose or not report.text:
        groups = group_lines(report, layers, width, verbose)
        rows += wrap("checks by group: -v", width, first=_NOTE, style="dim") if folds > 1 else groups
        rows += [*([] if verbose else waiting_lines(report, width)), BLANK]
    notes = [row for note in _notes(report, verbose, folds > 0) for row in wrap(note, width, first=_NOTE, style="dim")]
    rows += [*notes, BLANK] if notes else []
    if verbose > 1:
        from .everything import fact_lines

        rows += [*fact_lines(report.snapshot, width), BLANK]
    rows += verdict(report, width, verbose)
    return rows


def _host_beside(report: Report, width: int) -> list[Line]:
    if report.snapshot.outside is None:
        return []
    from . import outside

    found = [("", "on the host", "in the container"), *outside.rows(report.snapshot)]
    first, second = (max(len(row[n]) for row in found) + 2 for n in (0, 1))
    shown = [printable(f"  {a:<{first}}{b:<{second}}{c}").rstrip() for a, b, c in found]
    rows = [line(text) if len(text) <= width else line(text[: width - 3] + "...") for text in shown]
    for remark in outside.remarks(report.snapshot):
        rows += wrap(remark, width, "  ")
    return [*rows, BLANK]


def _causes(report: Report, width: int, verbose: int, folded: bool) -> list[Line]:
    rows: list[Line] = []
    for index, (root, under) in enumerate(families(report.findings)):
        rows += _also(index)
        error = own_error(root, under, report.snapshot)
        block = cause(root, under, width, verbose, error=error, folded=folded)
        rows += [*block, *_matrix(report, root, width, verbose), BLANK]
    return rows


def _text_causes(report: Report, titles: Mapping[str, str], width: int, verbose: int) -> list[Line]:
    """The same for a pasted text: with the lines of it that a cause rests on, and what it leaves open first."""
    from . import pasted

    rows = [*answers, BLANK] if (answers := pasted.answer_lines(report, width)) else []
    if open_ := pasted.leaves_open(report):
        if first := pasted.suspect(report):
            rows += [*cause(first, [], width, verbose), BLANK]
        rows += [*pasted.open_lines(report, titles, width), BLANK]
    for index, (root, under) in enumerate(families(pasted.worth_telling(report)), start=1 if open_ else 0):
        rows += _also(index)
        block = cause(root, under, width, verbose, pasted.lines_of(root))
        rows += [*block, *_matrix(report, root, width, verbose), BLANK]
    return [*rows, *alike, BLANK] if (alike := pasted.similar_lines(report, width, verbose)) else rows


def _matrix(report: Report, root: Finding, width: int, verbose: int) -> list[Line]:
    if not verbose:
        return []
    from .matrix_rows import matrix_lines

    return matrix_lines(report, [root.id], width)


def _also(index: int) -> list[Line]:
    return [line(Span("Also found", "bold")), BLANK] if index == 1 else []


def header(report: Report, width: int) -> list[Line]:
    """Which machine and which patient, in two or three lines."""
    s = report.snapshot
    versions = [f"gpudoctor {report.tool.version}", f"matrix {report.matrix.version}"]
    if report.text:
        from . import pasted

        return packed([*pasted.origin(report), *versions], width, "dim") + packed(pasted.named(s), width, "bold")
    kind = "" if report.target.kind == "live" else f" ({report.target.kind} {report.target.name})".replace(" )", ")")
    rows = packed([facts.system_name(s) + kind, *versions], width, "dim")
    highest = facts.cuda(s)
    driver = facts.driver(s) + (f" (CUDA up to {highest})" if highest else "")
    rows += packed([facts.gpus(s), driver, facts.torch(s), facts.python(s)], width, "bold")
    return rows


def _notes(report: Report, verbose: int, folded: bool) -> list[str]:
    """What changes no verdict. The matrix's notes, and remarks that bear on a cause or on how far the verdict reaches,
    are shown; the others are only counted. With -v, and of a text (where one may be the answer), all are shown."""
    about = {finding.layer for finding in report.findings if not finding.cause}
    about |= {"extension"} if report.policy.building else set()
    every = bool(verbose or report.text)
    texts = {SMI_NOTE: every or "driver" in about} if _smi_differs(report) else {}
    texts |= {
        remark_text(one): every or one.layer in about or one.id in _REACH + _OF_INTEREST for one in report.remarks
    }
    shown = [text for text, matters in texts.items() if matters and not folded]
    rest = [several(len(texts) - len(shown), "note") + ": -v"] if len(shown) < len(texts) else []
    overdue = [report.matrix.overdue] if verbose and report.matrix.overdue else []
    return [*report.notes, *overdue, *shown, *rest]


def _smi_differs(report: Report) -> bool:
    """Whether nvidia-smi shows another CUDA version than torch's."""
    highest, built = facts.cuda(report.snapshot), known(report.snapshot.torch.cuda)
    return bool(not report.text and highest and built and built != highest)


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
