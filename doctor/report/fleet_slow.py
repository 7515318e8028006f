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
    note = f"also slow before; {note}" if one.before else note
    note = f"in {one.low} of {one.measured} measurements {note}" if 0 < one.low < one.measured else note
    return SlowCells(
        one.node, where, one.label, f"{number(one.value)} {one.unit}", f"{one.change_percent:+.0f} %", note
    )


AGAIN = (
    "Run gpudoctor prove on each of these nodes twice more, and load the results as repeats 2 and 3 "
    '("Measure again" in docs/fleet.md).'
)

IDLE = "Other jobs may have disturbed these: measure each of these nodes three more times while it is idle."


def slow_notes(report: FleetReport) -> list[str]:
    """What the comparison leaves open: looks slow once, lagging, too few, and what the spread hides."""
    found = []
    parts = [one for one in report.once if 0 < one.low < one.measured]
    once = [one for one in report.once if one not in parts]
    if parts:
        low, measured = max((one.low, one.measured) for one in parts)
        names = folded([one.node for one in parts])
        found.append(f"Looks slow in {low} of {measured} measurements: {_counted(parts)} ({names}). {IDLE}")
    if once:
        names = folded([one.node for one in once])
        found.append(f"Looks slow, not confirmed: {_counted(once)} ({names}). {AGAIN}")
    if report.lagging:
        found.append(f"Lagging, not slow: {_counted(report.lagging)} (-v).")
    for kind in report.kinds:
        slower, faster = sorted(kind.medians)
        found.append(
            f"Two speeds within {kind.cohort}, {kind.label}: {number(slower)} {kind.unit} on "
            f"{several(kind.sizes[0], 'node')}, {number(faster)} on {kind.sizes[1]:,}. "
            "Each group was compared separately."
        )
    found += [f"Too few to compare: {several(len(one.nodes), 'node')} of {one.cohort} (at least 5 values are needed)."
              for one in report.too_few]  # fmt: skip
    return found


def hides(report: FleetReport) -> str:
    """What this spread would not show, by kind of figure; empty if nothing was compared."""
    worst: dict[str, float] = {}
    for one in report.spreads:
        kind = one.figure.split(" ")[0]
        worst[kind] = max(worst.get(kind, 0.0), one.hides_percent)
    if not worst:
        return ""
    words = ", ".join(f"{percent:.0f} % ({kind_words(kind)})" for kind, percent in sorted(worst.items()))
    return f"With this spread, losses below {words} cannot be detected."


KINDS = {"matmul": "matmul", "memory": "device memory", "copy": "copies"}


def kind_words(kind: str) -> str:
    return KINDS.get(kind, kind)


def _counted(found: Sequence[SlowFigure]) -> str:
    nodes = {one.node for one in found}
    gpus = sum(one.gpus if one.gpu < 0 else 1 for one in {(s.node, s.gpu): s for s in found}.values())
    return f"{several(gpus, 'GPU')} on {several(len(nodes), 'node')}"


def since_words(report: FleetReport) -> str:
    """All of what changed in one text: `Since 19 Nov: new failures on 2 nodes. Changed: driver on 4 nodes`."""
    if report.since is None:
        return ""
    return f"Since {day(report.since.started)}: {'. '.join(since_lines(report)) or 'no change'}."


def since_lines(report: FleetReport) -> list[str]:
    """What changed, as up to two sentences without their full stop: nodes, and facts with how many nodes changed."""
    since = report.since
    if since is None:
        return []
    failed = len({node for nodes in since.failed.values() for node in nodes})
    cured = len({node for nodes in since.cured.values() for node in nodes})
    found = [f"new failures on {several(failed, 'node')}"] if failed else []
    found += [f"failures fixed on {several(cured, 'node')}"] if cured else []
    found += [f"{several(len(since.slow_again), 'node')} slow for the second time"] if since.slow_again else []
    found += [f"{several(len(since.gone), 'node')} gone"] if since.gone else []
    found += [several(len(since.new), "new node")] if since.new else []
    nodes: dict[str, set[str]] = {}
    for one in since.changed:
        nodes.setdefault(one.label, set()).update(one.nodes)
    most_first = sorted(nodes.items(), key=lambda item: -len(item[1]))
    changed = [f"{label} on {len(some):,}" for label, some in most_first]
    changed[:1] = [f"{label} on {several(len(some), 'node')}" for label, some in most_first[:1]]
    return [*([", ".join(found)] if found else []), *([f"Changed: {', '.join(changed)}"] if changed else [])]
