"""A fleet against a spec: what each node has instead, by the check that `check --spec` runs on one machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from ..findings import Matrix, Policy
from ..findings.spec import SpecLine, files_of
from ..judge import load, run_check
from ..snapshot import Snapshot
from .nodesets import in_order
from .report import SpecAbout, SpecDeviation

SPEC_NOT_MET = "spec-not-met"
Row = tuple[str, str, str]
"""What it is about, what the spec allows, what is here."""


class OfNode(NamedTuple):
    """What a node does not meet, and what is unknown of it."""

    off: tuple[Row, ...]
    unknown: tuple[Row, ...]


class FleetSpec(NamedTuple):
    """What all nodes say to one spec. nodes: by id, those that were examined."""

    lines: tuple[SpecLine, ...]
    nodes: dict[int, OfNode]


def judge_nodes(kinds: Iterable[tuple[Sequence[int], Snapshot]], lines: tuple[SpecLine, ...], m: Matrix) -> FleetSpec:
    """Each kind of report is judged once: its nodes have the same versions. kinds: ids of nodes and one's Snapshot."""
    check, policy = load(SPEC_NOT_MET), Policy(spec=lines)
    nodes: dict[int, OfNode] = {}
    for ids, snapshot in kinds:
        found = run_check(check, snapshot, m, policy)
        facts = found.findings[0].facts if found.findings else {}
        of = OfNode(_rows(facts.get("deviations", ())), _rows(facts.get("unknown", ())))
        if not found.findings and found.status != "pass":  # the check itself failed
            of = OfNode((), (("spec", "", found.reason),))
        nodes.update(dict.fromkeys(ids, of))
    return FleetSpec(lines, nodes)


def _rows(found: Iterable[Mapping[str, str]]) -> tuple[Row, ...]:
    return tuple((one["name"], one["allowed"], one["found"]) for one in found)


def spec_about(found: FleetSpec, names: Mapping[int, str], masked: bool = False) -> SpecAbout:
    """As the report has it; each deviation with its nodes, those of most nodes first. masked: the file without its
    folder, which may name somebody."""
    off = {node: of for node, of in found.nodes.items() if of.off}
    counts = Counter({names[node]: len(of.off) for node, of in off.items()})
    return SpecAbout(
        files=tuple(name.rpartition("/")[2] if masked else name for name in files_of(found.lines)),
        lines=len(found.lines),
        judged=len(found.nodes),
        met=sum(not of.off and not of.unknown for of in found.nodes.values()),
        deviations=_grouped(found, names, "off"),
        unknown=_grouped(found, names, "unknown"),
        counts=dict(sorted(counts.items(), key=lambda item: (-item[1], in_order(item[0])))),
    )


def _grouped(found: FleetSpec, names: Mapping[int, str], which: Literal["off", "unknown"]) -> tuple[SpecDeviation, ...]:
    nodes: dict[Row, list[str]] = {}
    for node, of in found.nodes.items():
        for row in of.off if which == "off" else of.unknown:
            nodes.setdefault(row, []).append(names[node])
    order = sorted(nodes.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        SpecDeviation(name=row[0], allowed=row[1], found=row[2], nodes=tuple(sorted(some, key=in_order)))
        for row, some in order
    )
