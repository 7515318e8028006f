"""Repairs, findings, refused files and contradictions of a fleet's database, as its report has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from .kinds import Duplicate, NodeFinding, Refused
from .nodesets import in_order
from .repair import order
from .report import DuplicateAbout, FindingAbout, RefusedAbout, RepairAbout


def masked(name: str) -> str:
    """A stable pseudonym: the same name has the same one in every report."""
    return f"node-{blake2b(name.encode('utf-8', 'backslashreplace'), digest_size=5, person=b'gpudoctor').hexdigest()}"


_GPU = re.compile(r"\(GPU (\d{1,3})\)")
"""How the title of a finding names the GPU whose key is its subject."""


def repairs(findings: Sequence[NodeFinding], mask: bool) -> tuple[RepairAbout, ...]:
    """In order; those of users' Python environments are told apart, as findings."""
    found = [one for one in order(findings) if not one.users]
    gpus = {
        (one.name, one.subject): f"GPU {number[1]}"
        for one in findings
        if one.subject and (number := _GPU.search(one.title))
    }
    named = masked if mask else str
    return tuple(
        RepairAbout(
            finding=one.id,
            title=one.title,
            layer=one.layer,
            fix=one.fix,
            cures=one.cures,
            nodes=tuple(map(named, one.nodes)),
            subjects={named(node): _about(node, some, gpus) for node, some in one.subjects},
        )
        for one in found
    )


def _about(node: str, subjects: Iterable[str], gpus: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    """What a finding is about there; a GPU by its index, which its key does not say."""
    return tuple(gpus.get((node, subject), subject) for subject in subjects)


_WHICH_GPU = re.compile(r" \(GPU \d+\)")


def grouped(findings: Iterable[NodeFinding], names: Mapping[int, str]) -> tuple[FindingAbout, ...]:
    """By id, status and title, those of most nodes first: a title may name a figure of its node. Which GPU it is on one
    node says nothing of the others."""
    nodes: dict[tuple[str, str, str], set[str]] = {}
    for one in findings:
        nodes.setdefault((one.id, one.status, _WHICH_GPU.sub("", one.title)), set()).add(names[one.node])
    return tuple(
        FindingAbout(finding=key[0], status=key[1], title=key[2], nodes=tuple(sorted(some, key=in_order)))
        for key, some in sorted(nodes.items(), key=lambda item: (-len(item[1]), item[0]))
    )


def contradictions(found: Iterable[Duplicate], mask: bool) -> tuple[DuplicateAbout, ...]:
    return tuple(
        DuplicateAbout(kind=one.kind, nodes=tuple(map(masked, one.nodes)) if mask else one.nodes, detail=one.detail)
        for one in found
    )


def unreadable(found: Iterable[Refused], mask: bool) -> tuple[RefusedAbout, ...]:
    """A file's name may be a node's: with masks it is a pseudonym, and what a reason quotes is left out."""
    if not mask:
        return tuple(RefusedAbout(file=one.file, line=one.line, reason=one.reason) for one in found)
    return tuple(
        RefusedAbout(
            file=masked(one.file).replace("node", "file"), line=one.line, reason=_QUOTED.sub("...", one.reason)
        )
        for one in found
    )


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\S*[/\\\\]\S*|[\w-]+(?:\.[\w-]+)*\.(?:jsonl?|gz)\b")
"""What a reason quotes of a file or its line: a string, a path, a file's name."""


def why_not_examined(reason: str, mask: bool) -> str:
    """With masks, what a collector wrote is left out: it may name any host."""
    if mask and reason:
        return "its reason is left out with --mask-nodes"
    return reason or "no answer"
