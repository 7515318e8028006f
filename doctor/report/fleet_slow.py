"""What a fleet's report says of speed, and of what changed since an earlier one: sentences and cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..fleet.nodesets import folded
from ..fleet.report import FleetReport, SlowFigure
from .amounts import number
from .fleet_words import day, several


class SlowCells(NamedTuple):
    """A slow GPU or node, in columns."""

    node: str
    where: str
    what: str
    value: str
    change: str
    note: str


def slow_cells(one: SlowFigure) -> SlowCells:
    """`gpu-101 | GPU 1 | bf16 matmul | 585 TFLOP/s | -25 % | median 780, spread 1.9 %`."""
    where = f"GPU {one.gpu}" if one.gpu >= 0 else f"all {one.gpus}" if one.gpus > 1 else "node"
    note = f"(median {number(one.median)} ± {one.spread_percent:.1f} %)"
    note = "node: check its cooling" if one.gpu < 0 and one.gpus > 1 and one.kind == "matmul" else note
    note = f"slow before too; {note}" if one.before else note
    return SlowCells(
        one.node, where, one.label, f"{number(one.value)} {one.unit}", f"{one.change_percent:+.0f} %", note
    )


def slow_notes(report: FleetReport) -> list[str]:
    """What the comparison leaves open: looks slow once, lagging, too few, and what the spread hides."""
    found = []
    if report.once:
        names = folded([one.node for one in report.once])
        found.append(f"Looks slow, measured once: {_counted(report.once)} ({names}). Measure those nodes twice more.")
    if report.lagging:
        found.append(f"Lagging, not slow: {_counted(report.lagging)} (-v).")
    for kind in report.kinds:
        a, b = sorted(kind.medians)
        found.append(
            f"Two kinds in {kind.cohort}, {kind.figure}: {number(a)} and {number(b)} {kind.unit} on "
            f"{kind.sizes[0]:,} and {kind.sizes[1]:,} nodes. Each was compared within its kind."
        )
    found += [f"Too few to compare: {several(len(one.nodes), 'node')} of {one.cohort} (at least 5 values of a kind are "
              "needed)." for one in report.too_few]  # fmt: skip
    return found


def hides(report: FleetReport) -> str:
    """What this spread would not show, by kind of figure; empty where nothing was compared."""
    worst: dict[str, float] = {}
    for one in report.spreads:
        kind = one.figure.split(" ")[0]
        worst[kind] = max(worst.get(kind, 0.0), one.hides_percent)
    if not worst:
        return ""
    words = ", ".join(f"{percent:.0f} % ({kind_words(kind)})" for kind, percent in sorted(worst.items()))
    return f"This spread hides losses under {words}."


KINDS = {"matmul": "matmul", "memory": "memory", "copy": "copy"}


def kind_words(kind: str) -> str:
    return KINDS.get(kind, kind)


def _counted(found: Sequence[SlowFigure]) -> str:
    nodes = {one.node for one in found}
    gpus = sum(one.gpus if one.gpu < 0 else 1 for one in {(s.node, s.gpu): s for s in found}.values())
    return f"{several(gpus, 'GPU')} on {several(len(nodes), 'node')}"


def since_words(report: FleetReport) -> str:
    """`2 new failures, 1 cured, 4 changed driver, 1 slow for the 2nd time`; `no change` where that is so."""
    since = report.since
    if since is None:
        return ""
    new = len({node for nodes in since.failed.values() for node in nodes})
    cured = len({node for nodes in since.cured.values() for node in nodes})
    found = [several(new, "new failure")] if new else []
    found += [f"{cured:,} cured"] if cured else []
    found += [f"{len(one.nodes):,} changed {one.label}" for one in since.changed]
    found += [f"{len(since.slow_again):,} slow for the 2nd time"] if since.slow_again else []
    found += [f"{several(len(since.gone), 'node')} gone"] if since.gone else []
    found += [f"{several(len(since.new), 'node')} new"] if since.new else []
    return f"Since {day(since.started)}: {', '.join(found) or 'no change'}"
