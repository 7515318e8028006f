"""A fleet's report as Markdown: for a ticket or a wiki."""

from __future__ import annotations

from ..fleet.nodesets import folded
from ..fleet.report import FleetReport
from . import fleet_ending as ending
from . import fleet_slow as slow
from . import fleet_words as words
from .blocks import marks
from .fleet_links import link_notes
from .fleet_sheets import sheets
from .markdown import escape, fenced, sheet_rows


def fleet_markdown(report: FleetReport) -> str:
    """The whole report."""
    counts = ", ".join(text for _, text in words.counted(report))
    rows = [f"### gpudoctor fleet: {report.verdict.upper()} (exit {report.exit_code})", "", escape(counts), ""]
    rows += [escape(" · ".join([*words.head(report), *words.kinds(report)])), ""]
    rows += ["#### Repair in this order", ""] if report.repairs else []
    for number, one in enumerate(report.repairs, 1):
        cures = words.cures(number - 1, one, report)
        title = f"{words.repair_title(one.fix)} ({words.repair_marks(one.fix)})" if one.fix else one.title
        rows += [f"{number}. **{escape(title)}**, {escape(cures)}", ""]
        rows += [f"   {escape(one.title)} (`{one.finding}`): {escape(folded(one.nodes))}", ""]
        for step in one.fix.steps if one.fix else ():
            rows += [f"   - {escape(step.text)} *({marks(step)})*"]
            block = fenced(step.command) if step.command else []
            rows += ["", *("     " + row for part in block for row in part.split("\n")), ""] if block else [""]
    for sheet in sheets(report):
        rows += [f"#### {escape(sheet.title)}", "", *sheet_rows(sheet)]
    notes = [
        *slow.slow_notes(report),
        *link_notes(report),
        *filter(None, (slow.hides(report), slow.since_words(report))),
    ]
    rows += [*(f"- {escape(note)}" for note in notes), *([""] if notes else [])]
    first = ending.first_step(report)
    rows.append(f"**{report.verdict.upper()}** {escape(first or ending.verdict(report))}")
    return "\n".join(rows) + "\n"
