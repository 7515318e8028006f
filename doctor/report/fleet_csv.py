"""A fleet's report as CSV: a row for each matter of each node, and one for each healthy node."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO

from ..fleet.report import FleetReport, OddFact, SlowFigure
from ..fleet.report_links import SlowLink, SlowPath, SlowSwitch
from . import fleet_words as words
from .clean import printable

HEADER = ("node", "gpu", "state", "matter", "about", "value", "usual", "unit")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")


def fleet_csv(report: FleetReport) -> str:
    """The whole table; CRLF between rows, as RFC 4180 has it, is left to the reader: lines end with LF."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for row in _rows(report):
        writer.writerow([defused(cell) for cell in row])
    return out.getvalue()


def defused(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe before one. Numbers stay numbers."""
    text = printable(cell)
    if text.lstrip().startswith(_FORMULA) and not _is_number(text):
        return f"'{text}"
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and not text.startswith(("+", " "))


def _rows(report: FleetReport) -> Iterator[tuple[str, ...]]:
    states = {one.node: one.state for one in report.nodes}
    for one in report.repairs:
        for node in one.nodes:
            yield node, _gpus(one.subjects.get(node, ())), states.get(node, ""), "fail", one.finding, one.title, "", ""
    for kind, found in (("", report.findings), ("python ", report.python)):
        for finding in found:
            for node in finding.nodes:
                about = (f"{kind}{finding.status}", finding.finding, finding.title)
                gpus = words.folded_numbers(finding.gpus.get(node, ()))
                yield node, gpus, states.get(node, "healthy"), *about, "", ""
    if report.spec:
        for state, lines in (("spec", report.spec.deviations), ("spec unknown", report.spec.unknown)):
            for line in lines:
                for node in line.nodes:
                    yield node, "", states.get(node, "healthy"), state, line.name, line.found, line.allowed, ""
    for fact in (*report.odd, *report.odd_on_failing):
        yield from _odd(fact, states)
    for unread in report.unknown:
        for node in unread.nodes:
            yield node, "", states.get(node, "healthy"), "unknown", unread.fact, "", "", ""
    for clock in report.clocks:
        yield clock.node, "", states.get(clock.node, ""), "odd", "clock", f"{clock.seconds:.0f}", "0", "s"
    for word, figures in (("slow", report.slow), ("slow once", report.once), ("lagging", report.lagging)):
        for figure in figures:
            yield _slow(word, figure, states)
    yield from _links(report, states)
    for missing in report.not_examined:
        yield missing.node, "", states.get(missing.node, "no-answer"), "not examined", missing.reason, "", "", ""
    for refused in report.refused:
        yield "", "", "", "refused", refused.file[:200], refused.reason, str(refused.line or ""), ""
    for pair in report.duplicates:
        for node in pair.nodes:
            yield node, "", states.get(node, "healthy"), "contradiction", pair.kind, words.duplicate(pair), "", ""
    for remark in report.remarks:
        for node in remark.nodes:
            yield node, "", states.get(node, "healthy"), "remark", remark.kind, remark.detail, "", ""
    for node in report.healthy:
        yield node, "", "healthy", "", "", "", "", ""


def _links(report: FleetReport, states: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """Slow nodes; the nodes of slow switches and paths; pairs without a number, a row for each of the two nodes."""
    one = report.links
    if one is None:
        return
    slow: list[tuple[str, str, SlowLink | SlowSwitch | SlowPath, tuple[str, ...]]] = [
        *(("slow link", one.figure, node, (node.node,)) for node in one.nodes),
        *(("slow switch", switch.switch, switch, switch.nodes) for switch in one.switches),
        *(("slow path", " to ".join(path.ends), path, path.nodes) for path in one.paths),
    ]
    for word, about, row, nodes in slow:
        matter = word if row.confirmed else f"{word}, not confirmed"
        for node in nodes:
            values = (f"{row.value:.6g}", f"{row.median:.6g}", one.unit)
            yield node, "", states.get(node, "healthy"), matter, about, *values
    for missing in one.not_measured:
        for pair in missing.pairs:
            for node, partner in (pair, pair[::-1]):
                yield node, "", states.get(node, "healthy"), "link not measured", partner, missing.reason, "", ""


def _gpus(subjects: Iterable[str]) -> str:
    """The numbers of the GPUs among what a finding is about."""
    found = [re.fullmatch(r"GPU (\d{1,3})", subject) for subject in subjects]
    return words.folded_numbers(int(one[1]) for one in found if one)


def _odd(one: OddFact, states: dict[str, str]) -> Iterator[tuple[str, ...]]:
    for node in one.nodes:
        gpus = words.folded_numbers(one.gpus[node]) if node in one.gpus else ""
        yield node, gpus, states.get(node, ""), "odd", one.fact, one.value, one.usual, one.unit


def _slow(word: str, one: SlowFigure, states: dict[str, str]) -> tuple[str, ...]:
    gpu = str(one.gpu) if one.gpu >= 0 else "all"
    state = states.get(one.node, "healthy")
    return one.node, gpu, state, word, one.figure, f"{one.value:.6g}", f"{one.median:.6g}", one.unit
