"""A fleet's report for a terminal: counts, repairs in order, odd nodes, slow GPUs, nodes without an answer, verdict."""

from __future__ import annotations

from collections.abc import Sequence

from ..fleet.nodesets import folded
from ..fleet.report import FindingAbout, FleetReport, RepairAbout
from . import fleet_ending as ending
from . import fleet_links as links
from . import fleet_slow as slow
from . import fleet_words as words
from .blocks import marks
from .clean import printable
from .fleet_lines import MOST, Shown, cells, columns, more, names, sides
from .fleet_words import Row
from .lines import BLANK, Line, Span, Style, command, line, wrap
from .terminal import Display, packed

_COUNTED: dict[str, Style] = {
    "fail": "fail", "unknown": "unknown", "slow": "warn", "odd": "warn", "no_answer": "unknown", "healthy": "pass",
}  # fmt: skip
_VERDICT: dict[str, tuple[str, Style]] = {
    "fail": ("FAIL", "fail"),
    "unknown": ("UNKNOWN", "unknown"),
    "pass": ("PASS", "pass"),
}


def render_fleet(report: FleetReport, path: str, display: Display = Display()) -> str:  # noqa: B008
    """The whole report; `path` is the database as the user named it."""
    how = Shown(max(60, min(display.width, 110)), bool(display.verbose), path)
    if display.quiet:
        return display.written(_ending(report, how))
    sections = (
        _head(report, how), _repairs(report, how), _spec(report, how), _findings(report, how), _odd(report, how),
        _slow(report, how), _links(report, how),
        _not_examined(report, how), _loaded(report, how), _since(report, how), _ending(report, how),
    )  # fmt: skip
    rows: list[Line] = []
    for section in filter(None, sections):
        rows += [*([BLANK] if rows else []), *section]
    return display.written(rows)


def _head(report: FleetReport, how: Shown) -> list[Line]:
    rows = packed(words.head(report), how.width, "bold") + packed(words.kinds(report), how.width, "dim")
    spans: list[Span] = []
    for name, text in words.counted(report):
        spans += (
            [Span("   ")]
            if spans
            else [Span({"fail": "✗ ", "pass": "✓ "}.get(report.verdict, "? "), _VERDICT[report.verdict][1])]
        )
        spans.append(Span(text, _COUNTED.get(name, "")))
    return [*rows, BLANK, tuple(spans)]


def _repairs(report: FleetReport, how: Shown) -> list[Line]:
    if not report.repairs:
        return []
    rows = [line(Span("Repair in this order", "bold"))]
    for number, one in enumerate(report.repairs if how.all_ else report.repairs[:MOST], 1):
        cures = words.cures(number - 1, one, report)
        title = f"{words.repair_title(one.fix)} ({words.repair_marks(one.fix)})" if one.fix else one.title
        rows += sides(
            wrap(title, how.width - len(cures) - 2, "  ", first=f"{number}. ", style="bold"), cures, how.width
        )
        if one.fix:
            rows += wrap(one.title, how.width, "     ")
        rows += _nodes(one, how)
        rows += _steps(one, how) if how.all_ else []
    return rows + more(len(report.repairs), how)


def _nodes(one: RepairAbout, how: Shown) -> list[Line]:
    """The nodes, and the check's id at the right."""
    text = f"[{one.finding}]"
    rows = names(words.about(one), how, "     ")
    last = sum(len(span.text) for span in rows[-1])
    if last + 1 + len(text) > how.width:
        return [*rows, line(Span(f"{text:>{how.width}}", "dim"))]
    return [*rows[:-1], (*rows[-1], Span(f"{text:>{how.width - last}}", "dim"))]


def _steps(one: RepairAbout, how: Shown) -> list[Line]:
    rows: list[Line] = []
    for step in one.fix.steps if one.fix else ():
        rows += wrap(f"{step.text} ({marks(step)})", how.width, "       ")
        rows += command(step.command, "         ") if step.command else []
    return rows


def _spec(report: FleetReport, how: Shown) -> list[Line]:
    """What does not meet the spec, and how much of it on which nodes."""
    one = report.spec
    if one is None:
        return []
    rows = wrap(words.spec_title(one), how.width, style="bold")
    found = [words.spec_row(row) for row in one.deviations] + [words.spec_row(row, True) for row in one.unknown]
    rows += columns(found if how.all_ else found[:MOST], how) + more(len(found), how)
    return rows + columns([Row(text, "", nodes) for text, nodes in words.spec_counts(one)], how)


def _findings(report: FleetReport, how: Shown) -> list[Line]:
    """Warnings, unknown facts, and what concerns the users' Python alone."""
    rows: list[Line] = []
    groups = (
        ("Unknown", [one for one in report.findings if one.status == "unknown"]),
        ("Warnings", [one for one in report.findings if one.status != "unknown"]),
        ("Python environments (these do not make a node fail)", list(report.python)),
    )
    for title, found in groups:
        if found:
            rows += [BLANK] if rows else []
            rows += [line(Span(title, "bold")), *_titled(found, how), *more(len(found), how)]
    return rows


def _titled(found: Sequence[FindingAbout], how: Shown) -> list[Line]:
    rows: list[Line] = []
    for one in found if how.all_ else found[:MOST]:
        rows += wrap(f"{one.title} [{one.finding}]", how.width, "  ", hang=4)
        rows += names(folded(one.nodes), how, "    ")
    return rows


def _odd(report: FleetReport, how: Shown) -> list[Line]:
    rows: list[Line] = []
    cohorts = list(dict.fromkeys(one.cohort for one in report.odd))
    sizes = {one.name: one.nodes for one in report.cohorts}
    clocks = [Row("clock", text, folded(nodes)) for text, nodes in words.clocks(report)]
    for index, cohort in enumerate(cohorts or ([""] if clocks else [])):
        found = [words.odd_row(one) for one in report.odd if one.cohort == cohort]
        found += clocks if index + 1 >= len(cohorts) else []
        text = f"(compared across {sizes.get(cohort, 0):,} nodes with {cohort})" if cohort else ""
        rows += wrap(text, how.width, first=Span("" if index else "Odd nodes ", "bold"))
        rows += columns(found if how.all_ else found[:MOST], how) + more(len(found), how)
    for split in report.splits if how.all_ else report.splits[:MOST]:
        rows += [] if rows else [line(Span("Odd nodes: none", "bold"))]
        text = f"Split within {split.cohort}, not odd: {words.split_words(split)}"
        rows += wrap(text, how.width, "  ", hang=4, style="dim")
    for one in report.unknown if how.all_ else report.unknown[:MOST]:
        rows += [] if rows else [line(Span("Odd nodes: none", "bold"))]
        text = f"Unknown within {one.cohort}: {one.label} on {folded(one.nodes)}"
        rows += wrap(text, how.width, "  ", hang=4, style="dim")
    if how.all_ and report.odd_on_failing:
        rows += [line(Span("Odd values on failing nodes", "bold"))]
        rows += columns([words.odd_row(one) for one in report.odd_on_failing], how)
    if how.all_ and report.odd_python:
        rows += [line(Span("Odd values in Python environments (these do not make a node odd)", "bold"))]
        rows += columns([words.odd_row(one) for one in report.odd_python], how)
    return rows


def _slow(report: FleetReport, how: Shown) -> list[Line]:
    found = [slow.slow_cells(one) for one in report.slow]
    notes = slow.slow_notes(report)
    if not found and not notes and not how.all_:
        return []
    rows = wrap("(in all 3 measurements; ± is the spread among nodes of that kind)" if found else "none", how.width,
                first=Span("Slow for their kind " if found else "Slow for their kind: ", "bold"))  # fmt: skip
    rows += cells(found if how.all_ else found[:MOST], how) + more(len(found), how)
    for note in notes:
        rows += wrap(note, how.width, "  ", hang=4, style="dim")
    if how.all_:
        for heading, some in (("Looks slow, not confirmed", report.once), ("Lagging", report.lagging)):
            rows += [line(Span(f"  {heading}", "bold"))] if some else []
            rows += cells([slow.slow_cells(one) for one in some], how)
    hides = slow.hides(report) if (found or how.all_) else ""
    return rows + (wrap(hides, how.width, "  ", hang=4, style="dim") if hides else [])


def _links(report: FleetReport, how: Shown) -> list[Line]:
    """What the pairs of nodes measured between them."""
    one = report.links
    if one is None:
        return []
    rows = wrap(links.title(one), how.width, style="bold")
    found = links.link_cells(one)
    rows += cells(found if how.all_ else found[:MOST], how) + more(len(found), how)
    for note in links.link_notes(report):
        rows += wrap(note, how.width, "  ", hang=4)
    for missing in one.not_measured if how.all_ else one.not_measured[:MOST]:
        rows += wrap(links.not_measured_words(missing, how.all_), how.width, "  ", hang=4, style="dim")
    rows += more(len(one.not_measured), how)
    for number, pairs, measured, median in links.round_rows(one) if how.all_ else ():
        text = f"Round {number}: {measured} of {pairs} pairs measured, median {median or 'unknown'}"
        rows += wrap(text, how.width, "  ", hang=4, style="dim")
    return rows


def _not_examined(report: FleetReport, how: Shown) -> list[Line]:
    if not report.not_examined:
        return []
    rows = [line(Span("Not examined", "bold"))]
    reasons: dict[str, list[str]] = {}
    for one in report.not_examined:
        reasons.setdefault(one.reason or "no answer", []).append(one.node)
    shown = list(reasons.items())
    for reason, nodes in shown if how.all_ else shown[:MOST]:
        text = folded(nodes)
        if len(text) <= 30:
            rows += wrap(reason, how.width, "  ", first=f"{printable(text)}  ")
        else:
            rows += wrap(f"{reason} ({words.several(len(nodes), 'node')}):", how.width, "  ")
            rows += names(text, how, "    ")
    return rows + more(len(shown), how)


def _loaded(report: FleetReport, how: Shown) -> list[Line]:
    """What the load refused, and answers that contradict each other."""
    groups = (
        ("Refused", [words.refused(one) for one in report.refused]),
        ("Contradictory answers", [words.duplicate(one) for one in report.duplicates]),
        ("Remarks", [words.remark(one) for one in report.remarks]),
    )
    rows: list[Line] = []
    for title, found in groups:
        if found:
            rows += [BLANK] if rows else []
            rows.append(line(Span(title, "bold")))
            for text in found if how.all_ else found[:MOST]:
                rows += wrap(text, how.width, "  ", hang=4)
            rows += more(len(found), how)
    return rows


def _since(report: FleetReport, how: Shown) -> list[Line]:
    if report.since is None:
        return []
    rows = wrap(slow.since_words(report), how.width, style="bold")
    if how.all_:
        for word, found in (("new failure", report.since.failed), ("cured", report.since.cured)):
            for name, nodes in found.items():
                rows += wrap(f"{word}: {name} on {folded(nodes)}", how.width, "  ", hang=4)
        for one in report.since.changed:
            before, after = (words.shown(value, one.unit, one.label) for value in (one.before, one.after))
            rows += wrap(f"{one.label} from {before} to {after} on {folded(one.nodes)}", how.width, "  ", hang=4)
        for word, names in (
            ("gone", report.since.gone),
            ("new", report.since.new),
            ("slow for the second time", report.since.slow_again),
        ):
            rows += wrap(f"{word}: {folded(names)}", how.width, "  ", hang=4) if names else []
    return rows


def _ending(report: FleetReport, how: Shown) -> list[Line]:
    word, style = _VERDICT[report.verdict]
    first = ending.first_step(report)
    text = f"exit {report.exit_code}" + f". {first or ending.verdict(report)}"
    rows = wrap(text, how.width, first=Span(f"{word}  ", style), hang=2)
    node = ending.first_node(report)
    if node and not report.masked:
        from shlex import quote

        rows += wrap(
            f"One node in full: gpudoctor fleet report {quote(how.path)} --node {quote(node)}", how.width, hang=2
        )
    return rows
