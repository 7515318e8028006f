"""The report as Markdown: for a support ticket or a GitHub issue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..findings import Finding, Fix, Layer
from ..judge.report import Report
from ..snapshot import known
from . import facts
from .blocks import alike, families, marks, seen, show
from .clean import printable
from .everything import walk
from .groups import counted, exit_words, groups, in_words, remark_texts, sound_words
from .matrix_rows import rows_behind
from .own_error import own_error
from .terminal import SMI_NOTE

if TYPE_CHECKING:
    from .measured_sheets import Sheet

_MOST_CHARACTERS = 58_000
"""An issue tracker takes 65,536 of a text."""
_SIGN = {"fail": "❌", "warn": "⚠️", "unknown": "❔", "pass": "✅", "skipped": "➖"}
_ESCAPED = {c: "\\" + c for c in "\\`*_[]#|~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
_TABLE = str.maketrans(_ESCAPED)


def render_markdown(report: Report, layers: Mapping[str, Layer], titles: Mapping[str, str] | None = None) -> str:
    """The whole report; `layers` and `titles` are the catalogue's check id to layer, and to title."""
    code = exit_words(report)
    rows = [f"### gpudoctor: {report.verdict.upper()}{f' ({code})' if code else ''}", ""]
    rows += _text_causes(report, titles or {}) if report.text else _causes(report)
    if not report.findings:
        rows += [escape(sound_words(report)), ""]
    rows += _machine(report)
    rows += _host_beside(report)
    if known(report.snapshot.measured.level) is not None:
        rows += _measured(report)
    rows += [f"- {escape(note)}." for note in report.notes]
    rows += [f"- {escape(text)}" for text in remark_texts(report)]
    rows += [""] if report.remarks or report.notes else []
    rows += _checks(report, layers)
    rows += _matrix(report)
    rows += _facts(report, _MOST_CHARACTERS - len("\n".join(rows)))
    masked = "masked by gpudoctor" if report.redacted else "not masked"
    rows.append(
        f"<sub>gpudoctor {escape(report.tool.version)}, matrix {escape(report.matrix.version)}, "
        f"{escape(report.generated_at)}; names, addresses and UUIDs are {masked}.</sub>"
    )
    return "\n".join(rows) + "\n"


def _host_beside(report: Report) -> list[str]:
    if report.snapshot.outside is None:
        return []
    from . import outside

    found = outside.rows(report.snapshot)
    rows = ["| | on the host | in the container |", "| --- | --- | --- |"]
    rows += [f"| {escape(a)} | {escape(b)} | {escape(c)} |" for a, b, c in found]
    return [*rows, "", *(f"- {escape(text)}" for text in outside.remarks(report.snapshot)), ""]


def _causes(report: Report) -> list[str]:
    rows: list[str] = []
    for index, (root, under) in enumerate(families(report.findings)):
        rows += _head(index) + cause_rows(root, under, [], own_error(root, under, report.snapshot))
    return rows


def _text_causes(report: Report, titles: Mapping[str, str]) -> list[str]:
    """The same for a pasted text: with the lines of it that a cause rests on, and what it leaves open first."""
    from . import pasted

    rows = pasted.answer_markdown(report, escape, fenced)
    if open_ := pasted.leaves_open(report):
        rows += cause_rows(first, [], []) if (first := pasted.suspect(report)) else []
        rows += pasted.open_markdown(report, titles, escape, fenced)
    for index, (root, under) in enumerate(families(pasted.worth_telling(report)), start=1 if open_ else 0):
        rows += _head(index) + cause_rows(root, under, pasted.lines_of(root))
    return rows


def _head(index: int) -> list[str]:
    return ["#### Also found" if index else "#### Root cause", ""] if index < 2 else []


def escape(text: object) -> str:
    """A fact as Markdown text on one line: no character of it is markup, a table cell's end, HTML or a mention."""
    return " ".join(printable(str(text)).split()).translate(_TABLE)


def fenced(text: str, language: str = "sh") -> list[str]:
    """A code block whose fence is longer than any run of backticks inside it."""
    body = printable(text, keep_lines=True).strip("\n")
    longest = run = 0
    for c in body:
        run = run + 1 if c == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return [fence + language, body, fence]


def cause_rows(finding: Finding, under: list[Finding], lines: Sequence[str], error: str = "") -> list[str]:
    """One cause with its fixes, and what else it shows as."""
    rows = [f"{_SIGN[finding.status]} **{escape(finding.title)}** (`{finding.id}`)", ""]
    rows += [f"PyTorch says: {escape(error)}", ""] if error else []
    if finding.detail:
        rows += ["  \n".join(escape(text) for text in finding.detail.splitlines()), ""]
    if finding.facts or finding.subject:
        facts = [f"about {escape(finding.subject)}"] if finding.subject else []
        facts += [f"{escape(name)} = {escape(text)}" for name, text in seen(finding)]
        rows += [f"{'Seen' if finding.direct else 'Inferred'}: {'; '.join(facts)}", ""] if facts else []
    rows += [f"> {escape(text)}" for text in lines] + ([""] if lines else [])
    for index, fix in enumerate(finding.fixes):
        rows += _fix(fix, "Or" if index else "Fix")
    if under:
        rows += ["This also causes:", ""]
        rows += [f"- {_SIGN[o.status]} {escape(o.title)} (`{o.id}`){times}" for o, times in alike(finding, under)]
        rows.append("")
    return rows


def _fix(fix: Fix, word: str) -> list[str]:
    rows = [f"**{word}: {escape(fix.title)}**", ""]
    for number, step in enumerate(fix.steps, 1):
        rows.append(f"{number}. {escape(step.text)} *({marks(step)})*")
        if step.command:
            rows += ["", *("   " + row for block in fenced(step.command) for row in block.split("\n")), ""]
    rows.append("")
    for paragraph in fix.note.splitlines():
        rows += [*(fenced(paragraph[2:]) if paragraph.startswith("  ") else [escape(paragraph)]), ""]
    return rows


def _machine(report: Report) -> list[str]:
    highest = facts.cuda(report.snapshot)
    table = facts.table(report.snapshot, bool(report.text))
    rows = ["| | |", "| --- | --- |", *(f"| {name} | {escape(value)} |" for name, value in table), ""]
    return [*rows, SMI_NOTE, ""] if highest else rows


def _measured(report: Report) -> list[str]:
    """Every figure; the proof is shown open, the tables are folded."""
    from .measured_sheets import sheets
    from .measured_words import about

    rows = ["#### Measurements", "", escape(about(report.snapshot.measured)), ""]
    first, *rest = [[f"**{escape(one.title)}**", "", *sheet_rows(one)] for one in sheets(report)] or [[]]
    rows += [*first, *(["<details>", "<summary>Figures</summary>", ""] if rest else [])]
    for sheet in rest:
        rows += sheet
    return [*rows, *(["</details>", ""] if rest else [])]


def sheet_rows(sheet: Sheet) -> list[str]:
    """A table; its title is the caller's."""
    line = ["---:" if index in sheet.numeric else "---" for index in range(len(sheet.header))]
    rows = [f"| {' | '.join(map(escape, row))} |" for row in sheet.rows]
    return [f"| {' | '.join(map(escape, sheet.header))} |", f"| {' | '.join(line)} |", *rows, ""]


def _checks(report: Report, layers: Mapping[str, Layer]) -> list[str]:
    rows = ["<details>", f"<summary>Checks: {counted(report.checks)}</summary>", ""]
    rows += ["| | Layer | Result | Check |", "| --- | --- | --- | --- |"]
    for group in groups(report, layers):
        for check in group.checks:
            sign = "ℹ️" if check.remarked else _SIGN[check.status]
            rows.append(f"| {sign} | {group.layer} | {escape(in_words(check))} | `{check.id}` |")
    return [*rows, "", "</details>", ""]


def _matrix(report: Report) -> list[str]:
    """What the findings stand on of the matrix, folded."""
    behind = rows_behind(report, [finding.id for finding in report.findings])
    if not behind:
        return []
    head = ["<details>", f"<summary>Rows from matrix {escape(report.matrix.version)}: {len(behind)}</summary>", ""]
    head += ["| Row | Source | |", "| --- | --- | --- |"]
    rows = [f"| {r.table} {escape(r.row)} | {escape(r.source)} | {r.confidence} |" for r in behind]
    return [*head, *rows, "", "</details>", ""]


def _facts(report: Report, room: int) -> list[str]:
    """As many facts as there is room for, in characters; packages by name and version, in one row."""
    packages = known(report.snapshot.python.distributions) or ()
    rows = [
        f"{path}: {show(value, 500)}"
        for path, value in walk(report.snapshot)
        if value not in ((), {}, "") and not path.startswith("python.distributions[")
    ]
    if packages:
        rows.insert(0, "python.distributions: " + ", ".join(f"{one.name} {show(one.version)}" for one in packages))
    kept: list[str] = []
    rows.sort(key=lambda row: "...]: " not in row)  # the real length of a list comes first
    for row in map(printable, rows):
        if len(row) < room:
            room -= len(row) + 1
            kept.append(row)
    if len(kept) < len(rows):
        kept.append(f"and {len(rows) - len(kept)} more (--format json lists them)")
    return [
        "<details>",
        "<summary>Facts</summary>",
        "",
        *fenced("\n".join(kept), "text"),
        "",
        "</details>",
        "",
    ]
