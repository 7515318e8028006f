"""Repairs, findings, refused files and contradictions of a fleet's database, as its report has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias

from .kinds import Duplicate, NodeFinding, Refused
from .nodesets import in_order
from .repair import order
from .report import DuplicateAbout, FindingAbout, RefusedAbout, RemarkAbout, RepairAbout

Mask: TypeAlias = "Callable[[str], str]"
"""From a name to its pseudonym."""


def mask_of(key: bytes) -> Mask:
    """Pseudonyms that only the holder of the key, 64 bytes at most, can make: others cannot confirm a guess by hashing
    likely names. One name has the same pseudonym in all reports with this key."""

    def masked(name: str) -> str:
        digest = blake2b(name.encode("utf-8", "backslashreplace"), digest_size=5, key=key, person=b"gpudoctor")
        return f"node-{digest.hexdigest()}"

    return masked


def repairs(findings: Sequence[NodeFinding], mask: Mask | None) -> tuple[RepairAbout, ...]:
    """In order; those of users' Python environments are listed separately, as findings."""
    found = [one for one in order(findings) if not one.users]
    gpus = {(one.name, one.subject): f"GPU {one.gpu}" for one in findings if one.gpu is not None}
    named = mask or str
    return tuple(
        RepairAbout(
            finding=one.id,
            title=one.title,
            layer=one.layer,
            fix=one.fix,
            cures=one.cures,
            nodes=_named(one.nodes, mask),
            subjects=dict(sorted((named(node), _about(node, some, gpus)) for node, some in one.subjects)),
        )
        for one in found
    )


def _named(nodes: Iterable[str], mask: Mask | None) -> tuple[str, ...]:
    """The order of pseudonyms says nothing of the names."""
    return tuple(sorted(map(mask, nodes))) if mask else tuple(nodes)


def _about(node: str, subjects: Iterable[str], gpus: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    """What a finding is about there; a GPU by its index, which its key does not say."""
    return tuple(gpus.get((node, subject), subject) for subject in subjects)


_WHICH_GPU = re.compile(r" \(GPU \d+\)")


def grouped(findings: Iterable[NodeFinding], names: Mapping[int, str]) -> tuple[FindingAbout, ...]:
    """By id, status and title, those of most nodes first: a title may name a figure of its node. Which GPU it is on one
    node says nothing of the others."""
    found: dict[tuple[str, str, str], dict[str, set[int]]] = {}
    for one in findings:
        nodes = found.setdefault((one.id, one.status, _WHICH_GPU.sub("", one.title)), {})
        gpus = nodes.setdefault(names[one.node], set())
        if one.gpu is not None:
            gpus.add(one.gpu)
    return tuple(
        FindingAbout(
            finding=key[0],
            status=key[1],
            title=key[2],
            nodes=tuple(sorted(nodes, key=in_order)),
            gpus={node: tuple(sorted(gpus)) for node, gpus in sorted(nodes.items()) if gpus},
        )
        for key, nodes in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    )


def contradictions(found: Iterable[Duplicate], mask: Mask | None) -> tuple[DuplicateAbout, ...]:
    """GPUs that stand on the same nodes are one of them: a copied machine has all its GPUs twice."""
    rows: list[DuplicateAbout] = []
    uuids: dict[tuple[str, ...], list[str]] = {}
    for one in found:
        if one.kind == "uuid":
            uuids.setdefault(_named(dict.fromkeys(one.nodes), mask), []).append(one.detail)
        else:
            rows.append(DuplicateAbout(kind=one.kind, nodes=_named(one.nodes, mask), detail=one.detail))
    for nodes, some in uuids.items():
        detail = some[0] if len(some) == 1 else ""
        rows.append(DuplicateAbout(kind="uuid", nodes=nodes, detail=detail, gpus=len(some)))
    return tuple(sorted(rows, key=lambda row: row.nodes) if mask else rows)


def remarks(found: Iterable[tuple[str, str, str]], mask: Mask | None) -> tuple[RemarkAbout, ...]:
    """By kind and detail; with masks without what a collector wrote, and under the node's pseudonym alone."""
    nodes: dict[tuple[str, str], list[str]] = {}
    for kind, detail, node in found:
        shown = why_not_examined(detail, True) if mask and kind == "silent-before" else detail
        shown = mask(detail) if mask and kind == "answered-as" else shown
        nodes.setdefault((kind, shown), []).append(mask(node) if mask else node)
    return tuple(
        RemarkAbout(kind=kind, detail=detail, nodes=tuple(sorted(some, key=in_order)))
        for (kind, detail), some in nodes.items()
    )


def unreadable(found: Iterable[Refused], mask: Mask | None) -> tuple[RefusedAbout, ...]:
    """A file's name may be a node's: with masks it is a pseudonym, and what a reason quotes is omitted."""
    if not mask:
        return tuple(RefusedAbout(file=one.file, line=one.line, reason=one.reason) for one in found)
    rows = [
        RefusedAbout(file=mask(one.file).replace("node", "file"), line=one.line, reason=_QUOTED.sub("...", one.reason))
        for one in found
    ]
    return tuple(sorted(rows, key=lambda row: (row.file, row.line)))


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\S*[/\\\\]\S*|[\w-]+(?:\.[\w-]+)*\.(?:jsonl?|gz)\b")
"""What a reason quotes of a file or its line: a string, a path, a file's name."""


def why_not_examined(reason: str, mask: bool) -> str:
    """With masks, what a collector wrote is omitted: it may name any host."""
    if mask and reason:
        return "reason hidden by --mask-nodes"
    return reason or "no answer"
