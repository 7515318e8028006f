"""How a fleet's report ends: what to do first, or what is left open."""

from __future__ import annotations

from collections.abc import Sequence

from ..fleet.foreign import is_unread
from ..fleet.nodesets import folded, in_order, parts
from ..fleet.report import FleetReport
from .fleet_words import refused_words, repair_title, several


def first_step(report: FleetReport) -> str:
    """The sentence after the verdict: what to do first."""
    doable = next((one for one in report.repairs if one.fix), None)
    if doable is None or doable.fix is None:
        return ""
    title = repair_title(doable.fix)
    lower = len(title) > 1 and title[0].isupper() and title[1].islower()
    return f"First, on {_pieces_cut(doable.nodes, 40)}: {title[0].lower() + title[1:] if lower else title}"


def first_node(report: FleetReport) -> str:
    """The node to look at first: one of the first repair, else one in the worst state; empty if all are healthy."""
    repaired = next((min(one.nodes, key=in_order) for one in report.repairs if one.fix and one.nodes), "")
    worst = ("fail", "slow", "unknown", "odd", "warn")
    return repaired or next((one.node for state in worst for one in report.nodes if one.state == state), "")


def verdict(report: FleetReport) -> str:
    """A sentence for a fleet of which nothing has a first step."""
    c = report.counts
    if report.spec and report.spec.counts and not report.repairs:
        return f"{several(len(report.spec.counts), 'node')} to change; check --spec on a node shows its steps."
    if report.verdict == "fail":
        return "No fix is known for these failures." if c.fail else "No node failed; --fail-on makes this exit 1."
    if not report.answered:
        return "No node answered."
    if report.verdict == "unknown":
        left = c.no_answer + c.unknown + c.slow_unknown
        words = f"{several(left, 'node')} could not be judged" if left else ""
        words += " in full" if left and left == c.slow_unknown else ""
        unread = refused_words([one for one in report.refused if is_unread(one.reason)])
        files = f"{unread} could not be read" if unread else ""
        return f"No node failed, but {' and '.join(filter(None, (words, files)))}."
    rest = c.slow + c.odd + c.warn
    return f"No node failed; look at {several(rest, 'node')}." if rest else "No problems found."


def _pieces_cut(names: Sequence[str], room: int) -> str:
    """Nodesets in at most `room` columns, and how many nodes are omitted."""
    whole = folded(names)
    if len(whole) <= room:
        return whole
    shown_parts: list[str] = []
    for part in parts(names):
        if sum(map(len, shown_parts)) + len(part) + len(shown_parts) > room:
            break
        shown_parts.append(part)
    words = ",".join(shown_parts) or f"{sorted(names)[0][:room]}"
    return f"{words} and more ({several(len(names), 'node')} in all)"
