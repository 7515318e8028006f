"""A fleet's report as tables: what Markdown and HTML show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..fleet.nodesets import folded
from ..fleet.report import FindingAbout, FleetReport, OddFact, SlowFigure
from . import fleet_slow as slow
from . import fleet_words as words
from .fleet_links import link_sheets
from .measured_sheets import Sheet


def sheets(report: FleetReport) -> list[Sheet]:
    """All that have rows, in the order of the terminal's report."""
    since = [
        *(
            ("new failure", name, folded(nodes))
            for name, nodes in (report.since.failed if report.since else {}).items()
        ),
        *(("cured", name, folded(nodes)) for name, nodes in (report.since.cured if report.since else {}).items()),
        *(
            (
                one.label,
                " to ".join(words.shown(value, one.unit, one.label) for value in (one.before, one.after)),
                folded(one.nodes),
            )
            for one in (report.since.changed if report.since else ())
        ),
    ]
    clocks = [("", "clock", text, "", folded(nodes)) for text, nodes in words.clocks(report)]
    found = [
        *_spec(report),
        _findings("Unknown", (one for one in report.findings if one.status == "unknown")),
        _findings("Warnings", (one for one in report.findings if one.status != "unknown")),
        _odd("Odd nodes", report.odd, clocks),
        _odd("Odd values on failing nodes", report.odd_on_failing),
        Sheet(
            "Splits (several common values, none odd)",
            ("kind", "fact", "values"),
            [
                (
                    one.cohort,
                    one.label,
                    words.split_words(one).removeprefix(f"{one.label} "),
                )
                for one in report.splits
            ],
        ),
        Sheet(
            "Unknown facts", ("kind", "fact", "nodes"), [(u.cohort, u.label, folded(u.nodes)) for u in report.unknown]
        ),
        _slow("Slow for their kind (in all 3 measurements)", report.slow),
        _slow("Looks slow, not confirmed", report.once),
        _slow("Lagging, not slow", report.lagging),
        *link_sheets(report),
        Sheet("Not examined", ("node", "why"), [(one.node, one.reason) for one in report.not_examined]),
        Sheet(
            "Refused",
            ("file", "line", "why"),
            [(one.file[:200], str(one.line or ""), one.reason) for one in report.refused],
        ),
        Sheet("Contradictory answers", ("what",), [(words.duplicate(one),) for one in report.duplicates]),
        Sheet("Remarks", ("what",), [(words.remark(one),) for one in report.remarks]),
        Sheet(words.since_title(report), ("what", "change", "nodes"), since),
        _findings("Python environments (these do not make a node fail)", report.python),
        _odd("Odd values in Python environments (these do not make a node odd)", report.odd_python),
    ]
    return [sheet for sheet in found if sheet.rows]


def _spec(report: FleetReport) -> list[Sheet]:
    one = report.spec
    if one is None:
        return []
    header = ("line", "allowed", "found", "nodes")
    off, unknown = (
        [(row.name, row.allowed, row.found, folded(row.nodes)) for row in some]
        for some in (one.deviations, one.unknown)
    )
    return [
        Sheet(words.spec_title(one), header, off or [("", "", "no deviations", "")]),
        Sheet("Deviations from the spec by node", ("count", "nodes"), words.spec_counts(one)),
        Sheet("Unknown whether these meet the spec", header, unknown),
    ]


def _findings(title: str, found: Iterable[FindingAbout]) -> Sheet:
    return Sheet(title, ("finding", "id", "nodes"), [(one.title, one.finding, folded(one.nodes)) for one in found])


def _odd(title: str, found: Sequence[OddFact], more: Sequence[tuple[str, ...]] = ()) -> Sheet:
    rows = [
        (
            one.cohort,
            one.label,
            words.shown(one.value, one.unit, one.label),
            f"{words.shown(one.usual, one.unit, one.label)} on {words.several(one.usual_nodes, 'node')}",
            words.with_gpus(one.nodes, one.gpus),
        )
        for one in found
    ]
    return Sheet(title, ("kind", "fact", "value", "usual", "nodes"), [*rows, *more])


def _slow(title: str, found: Sequence[SlowFigure]) -> Sheet:
    rows = [(one.cohort, *slow.slow_cells(one)) for one in found]
    return Sheet(title, ("kind", "node", "GPU", "figure", "value", "change", "note"), rows, (4, 5))


def states(report: FleetReport) -> list[tuple[str, str, str, str]]:
    """A row for each node that is not healthy, and the healthy ones folded: node, state, kind, why."""
    rows = [(one.node, one.state.replace("-", " "), one.cohort, words.node_why(one)) for one in report.nodes]
    return [*rows, *((part, "healthy", "", "") for part in words.parts_of(report.healthy))]
