"""What a fleet's report says of the links between its nodes: sentences, cells and tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..fleet.link_verdict import LEAST_NODES
from ..fleet.nodesets import folded
from ..fleet.report import FleetReport
from ..fleet.report_links import LinksAbout, NotMeasured, SlowLink, SlowPath, SlowSwitch
from .amounts import number
from .fleet_slow import SlowCells
from .fleet_words import several
from .measured_sheets import Sheet

FIGURES = {"all_reduce": "all-reduce"}
_SHOWN_PAIRS = 4


def title(one: LinksAbout) -> str:
    """`Links: 254 pairs in 3 rounds, median 46.1 GB/s (all-reduce)`."""
    rounds = several(max((of.round for of in one.rounds), default=0), "round")
    pairs = several(one.pairs, "pair")
    measured = (
        f"{pairs} in {rounds}" if one.measured == one.pairs else f"{one.measured:,} of {pairs} measured in {rounds}"
    )
    figure = FIGURES.get(one.figure, one.figure)
    return f"Links: {measured}" + (f", median {_rate(one, one.median)} ({figure})" if one.median is not None else "")


def link_cells(one: LinksAbout) -> list[SlowCells]:
    """Slow nodes, switches and paths, in columns."""
    found: list[tuple[str, str, str, SlowLink | SlowSwitch | SlowPath, str]] = []
    for node in one.nodes:
        note = f"with {node.partner}; median {number(node.median)}"
        found.append((node.node, "node", f"best of {several(node.pairs, 'pair')}", node, note))
    for switch in one.switches:
        note = f"to other switches; median {number(switch.median)}; {folded(switch.nodes)}"
        found.append((switch.switch, "switch", several(len(switch.nodes), "node"), switch, note))
    for path in one.paths:
        kind = "switches" if path.switches else "nodes"
        found.append((" to ".join(path.ends), "path", f"between {kind}", path, f"median {number(path.median)}"))
    return [
        SlowCells(
            name,
            kind,
            what,
            _rate(one, slow.value),
            f"{slow.change_percent:+.0f} %",
            f"({note})" if slow.confirmed else f"(not confirmed; {note})",
        )
        for name, kind, what, slow, note in found
    ]


def notes(one: LinksAbout) -> list[str]:
    """What to look at, how far apart neighbors and distant nodes are, and what could not be compared."""
    found = []
    sides = []
    if one.nodes:
        sides.append("the cables and ports of these nodes")
    if one.switches:
        sides.append("the uplinks of these switches")
    if one.paths:
        sides.append("everything between the ends of these paths")
    if sides:
        found.append(f"Check {' and '.join(sides)}: compare the rate of the network ports (ethtool, ibstat).")
    if max((of.pairs for of in one.rounds), default=0) < LEAST_NODES // 2:
        found.append(f"Too few nodes to compare links: at least {LEAST_NODES} are needed.")
    elif not sides and one.measured:
        found.append("No node, path or switch is slow (below 90 % of its round's median).")
    near, far = (_median(one, numbers) for numbers in ((1,), (2, 3)))
    if near is not None and far is not None and far < 0.9 * near:
        found.append(f"Distant nodes reach {_rate(one, far)}, neighbors {_rate(one, near)}.")
    return found


def unmeasured_words(one: LinksAbout) -> str:
    """`No link measured: gpu-017`; empty if there is no such node."""
    return f"No link measured on {folded(one.unmeasured)}." if one.unmeasured else ""


def not_measured_words(one: NotMeasured, all_: bool) -> str:
    """`3 pairs not measured: no answer in 120 s (gpu-1 with gpu-7, ...)`."""
    shown = one.pairs if all_ else one.pairs[:_SHOWN_PAIRS]
    pairs = ", ".join(" with ".join(pair) for pair in shown)
    more = ", ..." if len(shown) < len(one.pairs) else ""
    return f"{several(len(one.pairs), 'pair')} not measured: {one.reason} ({pairs}{more})"


def round_rows(one: LinksAbout) -> list[tuple[str, str, str, str]]:
    """Round, pairs, pairs with a number, and median."""
    return [
        (
            f"{of.round}" + (f", turn {of.turn}" if of.round > 3 else ""),
            f"{of.pairs:,}",
            f"{of.measured:,}",
            "" if of.median is None else _rate(one, of.median),
        )
        for of in one.rounds
    ]


def link_sheets(report: FleetReport) -> list[Sheet]:
    """Tables for Markdown and HTML."""
    one = report.links
    if one is None:
        return []
    slow = [tuple(cells) for cells in link_cells(one)]
    missing = [(of.reason, several(len(of.pairs), "pair"), _pairs(of.pairs)) for of in one.not_measured]
    return [
        Sheet(title(one), ("round", "pairs", "measured", "median"), round_rows(one), (1, 2, 3)),
        Sheet("Slow links", ("name", "kind", "measured", "value", "change", "note"), slow, (3, 4)),
        Sheet("Links not measured", ("why", "count", "pairs"), missing),
    ]


def link_notes(report: FleetReport) -> list[str]:
    """The sentences of all formats."""
    one = report.links
    return [] if one is None else [*filter(None, (unmeasured_words(one),)), *notes(one)]


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(" with ".join(pair) for pair in pairs)


def _median(one: LinksAbout, rounds: Sequence[int]) -> float | None:
    return next((of.median for of in one.rounds if of.round in rounds and of.median is not None), None)


def _rate(one: LinksAbout, value: float) -> str:
    return f"{number(value)} {one.unit}"
