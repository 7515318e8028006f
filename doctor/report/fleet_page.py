"""A fleet's report as one HTML page, as a machine's looks: repairs with their commands, tables, a row per node."""

from __future__ import annotations

from msgspec.structs import replace

from ..findings import Finding
from ..fleet.nodesets import folded
from ..fleet.report import FleetReport, RepairAbout
from . import fleet_ending as ending
from . import fleet_slow as slow
from . import fleet_words as words
from .fleet_links import link_notes
from .fleet_sheets import sheets, states
from .measured_sheets import Sheet
from .page import cause, rendered
from .page_plain import part, plain


def fleet_page(report: FleetReport) -> str:
    """The whole page, as text."""
    counts = ", ".join(text for _, text in words.counted(report))
    parts = [part(texts=[" · ".join(words.kinds(report))])]
    if report.repairs:
        cards = [cause(_finding(number, one, report), []) for number, one in enumerate(report.repairs, 1)]
        parts.append(part("Repair in this order", causes=cards))
    for sheet in sheets(report):
        parts.append(part(sheet.title, sheets=[sheet._replace(title="")]))
    notes = [
        *slow.slow_notes(report),
        *link_notes(report),
        *filter(None, (slow.hides(report), slow.since_words(report))),
    ]
    parts += [part("Notes", notes)] if notes else []
    table = Sheet("", ("node", "state", "kind", "why"), states(report))
    parts.append(part("Nodes", filter="Filter nodes, states, reasons", sheets=[table]))
    first = ending.first_step(report)
    next_step = f"{first}." if first else ending.verdict(report)
    verdict = f"{report.verdict.upper()} (exit {report.exit_code}): {counts}. {next_step}"
    title = f"gpudoctor fleet: {report.verdict.upper()}, {words.several(report.counts.nodes, 'node')}"
    return rendered(title, plain=plain(" · ".join(words.head(report)), verdict, parts))


def _finding(number: int, one: RepairAbout, report: FleetReport) -> Finding:
    """The repair as a page shows a cause."""
    fixes = (replace(one.fix, title=words.repair_title(one.fix)),) if one.fix else ()
    title = f"{number}. {one.title}"
    detail = f"{words.cures(number - 1, one, report)}: {folded(one.nodes)}"
    return Finding(id=one.finding, status="fail", severity="error", title=title, detail=detail, fixes=fixes)
