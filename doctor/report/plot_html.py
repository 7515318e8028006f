"""The report as one HTML file: verdict, findings with fixes, pictures, every figure. No script, no outside resource."""

from __future__ import annotations

from importlib.resources import files

from ..findings import Finding, Fix
from ..judge.report import Report
from ..snapshot import known
from . import facts
from .blocks import SIGNS, WHERE, alike, families, seen
from .clean import printable
from .groups import MARK, counted, exit_words, remark_texts
from .measured_sheets import Sheet, sheets
from .measured_words import about
from .plot_links import render_links
from .plot_machine import render_machine
from .plot_soak import render_soak
from .plot_svg import drawable, render_svg
from .svg import escape

OPEN = ("GPU path", "What would help", "What was watched")
"""Tables that stand before the pictures."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_html(report: Report) -> str:
    """The whole report as a page that reads the same on a disk, in a ticket and in a mail."""
    s = report.snapshot
    title = f"gpudoctor: {report.verdict.upper()}, {facts.gpus(s)}"
    style = files(__package__).joinpath("page.css").read_text("utf-8")
    body = [*_head(report), *_findings(report), *_measured(report), *_checks(report), *_foot(report)]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _head(report: Report) -> list[str]:
    s = report.snapshot
    words = [facts.system_name(s), facts.driver(s), facts.torch(s), facts.python(s)]
    badge = f'<span class="badge {report.verdict}">{report.verdict.upper()}</span>'
    code = exit_words(report)
    return [
        f"<h1>{escape(facts.gpus(s))}</h1>",
        f'<p class="muted">{escape(" · ".join(words))}</p>',
        f"<p>{badge}{f'{code}; ' if code else ''}{escape(counted(report.checks))}</p>",
    ]


def _findings(report: Report) -> list[str]:
    rows = []
    for index, (root, under) in enumerate(families(report.findings)):
        rows += [f"<h2>{'Also found' if index else 'Root cause'}</h2>"] if index < 2 else []
        rows += _finding(root, under)
    if report.remarks:
        parts = [f"<li>{escape(text)}</li>" for text in remark_texts(report)]
        rows += ["<h2>Remarks</h2>", '<div class="card"><ul>', *parts, "</ul></div>"]
    return rows


def _finding(finding: Finding, under: list[Finding]) -> list[str]:
    word = SIGNS[finding.status][0].split()[1] if finding.status in SIGNS else finding.status.upper()
    rows = ['<div class="card">', f'<h3><span class="badge {finding.status}">{word}</span>{escape(finding.title)}</h3>']
    rows += [f"<p>{escape(finding.detail)}</p>"] if finding.detail else []
    parts = [f"about {finding.subject}"] if finding.subject else []
    parts += [f"{name} = {text}" for name, text in seen(finding)]
    if parts:
        rows.append(f'<p class="muted">{"Seen" if finding.direct else "Inferred"}: {escape("; ".join(parts))}</p>')
    for index, fix in enumerate(finding.fixes):
        rows += _fix(fix, "Or" if index else "Fix")
    if under:
        others = [f"<li>{escape(f'{o.title} [{o.id}]{times}')}</li>" for o, times in alike(finding, under)]
        rows += ["<p><b>This also shows as</b></p><ul>", *others, "</ul>"]
    return [*rows, f'<p class="muted">Why and how: gpudoctor explain {escape(finding.id)}</p>', "</div>"]


def _fix(fix: Fix, word: str) -> list[str]:
    rows = ['<div class="fix">', f"<b>{word}: {escape(fix.title)}</b>", "<ol>"]
    for step in fix.steps:
        marks = [WHERE.get(step.where, step.where)]
        marks += ["as root"] if step.needs_root else []
        marks += ["cannot be undone"] if step.destructive else []
        marks += [] if step.possible_here else ["not possible from here"]
        rows.append(f'<li>{escape(step.text)} <span class="muted">({escape(", ".join(marks))})</span>')
        rows += [_code(step.command)] if step.command else []
        rows.append("</li>")
    rows.append("</ol>")
    for paragraph in fix.note.splitlines():
        rows.append(_code(paragraph[2:]) if paragraph.startswith("  ") else f'<p class="muted">{escape(paragraph)}</p>')
    return [*rows, "</div>"]


def _code(command: str) -> str:
    lines = printable(command, keep_lines=True).strip("\n").split("\n")
    return "<pre>" + "\n".join(map(escape, lines)) + "</pre>"


def _measured(report: Report) -> list[str]:
    m = report.snapshot.measured
    if known(m.level) is None:
        return []
    rows = ["<h2>Measured</h2>", f'<p class="muted">{escape(about(m))}</p>']
    found = sheets(report)
    open_ = [sheet for sheet in found if sheet.title in OPEN]
    rows += [row for sheet in open_ for row in _sheet(sheet)]
    machine = render_machine(report)
    rows += ['<div class="picture">', machine.strip(), "</div>"] if machine else []
    links = render_links(report)
    rows += ['<div class="picture">', links.strip(), "</div>"] if links else []
    soak = render_soak(report)
    rows += ['<div class="picture">', soak.strip(), "</div>"] if soak else []
    for device in drawable(report):
        picture = render_svg(report, device)
        rows += ['<div class="picture">', picture.strip(), "</div>"]
    rest = [sheet for sheet in found if sheet not in open_]
    rows += ["<h2>Figures</h2>"] if rest else []
    return rows + [row for sheet in rest for row in _sheet(sheet)]


def _sheet(sheet: Sheet) -> list[str]:
    def cells(tag: str, row: tuple[str, ...]) -> str:
        marks = [' class="number"' if i in sheet.numeric else "" for i in range(len(row))]
        return "<tr>" + "".join(f"<{tag}{m}>{escape(c)}</{tag}>" for m, c in zip(marks, row, strict=True)) + "</tr>"

    head = [f"<thead>{cells('th', sheet.header)}</thead>"] if any(sheet.header) else []
    body = [cells("td", row) for row in sheet.rows]
    rows = ['<div class="card">', f"<h3>{escape(sheet.title)}</h3>", '<div class="scroll"><table>', *head, "<tbody>"]
    return [*rows, *body, "</tbody></table></div></div>"]


def _checks(report: Report) -> list[str]:
    marks = {"pass": "pass", "warn": "warn", "fail": "fail", "unknown": "unknown"}
    rows = [
        f'<tr><td class="{marks.get(c.status, "muted")}">{MARK[c.status][0]} {c.status}</td><td>{escape(c.id)}</td>'
        f"<td>{escape(c.reason)}</td></tr>"
        for c in report.checks
    ]
    return [
        "<h2>Checks</h2>",
        f'<details class="card"><summary>{escape(counted(report.checks))}</summary>',
        '<div class="scroll"><table><tbody>',
        *rows,
        "</tbody></table></div></details>",
    ]


def _foot(report: Report) -> list[str]:
    masked = "masked by gpudoctor" if report.redacted else "not masked"
    made = f"gpudoctor {report.tool.version}, matrix {report.matrix.version}, {report.generated_at}"
    return [f"<footer>{escape(made)}; names, addresses and UUIDs are {masked}.</footer>"]
