"""The root cause first (DESIGN rule 6): which finding explains which, in what order they stand, and which has a fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ..findings import LAYERS, Finding

_STATUS = {"fail": 0, "unknown": 1, "warn": 2, "pass": 3, "skipped": 4}
_OF_ONE_GPU = ("hardware", "speed")
"""Layers whose findings about a GPU say nothing of another one; drivers and libraries are the same for all."""
_SEVERITY = {"critical": 0, "error": 1, "warning": 2, "info": 3}


_ENVIRONMENT = ("python-does-not-start",)
"""What is repaired by the environment's own Python waits until that one starts."""


def rank(
    findings: Iterable[Finding], declared: Mapping[str, tuple[str, ...]], gpus: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """Findings in the order of DESIGN rule 6; `downstream_of` of each is cut to the causes that were really found.

    `declared` maps each check id to the ids that it is downstream of. A cause that is itself no finding passes its
    own causes on: c downstream of b downstream of a folds c under a where b did not fire. What a board itself reports
    is passed on to other faults of hardware only. A warning never explains a failure, and a fault of one board never
    explains what another GPU has: `gpus` maps the subjects that are GPUs (key, UUID or PCI address) to one name each.
    Links have two ends: their findings fold under those of any GPU.

    A finding that others explain names its root `cause`, and keeps its fixes only where none of its causes has any.
    """
    found, names = list(findings), gpus or {}
    explained = [replace(f, downstream_of=_present_causes(f, found, declared, names)) for f in found]
    ordered = sorted(explained, key=_key)
    return tuple(_folded(finding, ordered, names) for finding in ordered)


def _present_causes(
    finding: Finding, found: list[Finding], declared: Mapping[str, tuple[str, ...]], gpus: Mapping[str, str]
) -> tuple[str, ...]:
    present = {other.id for other in found if _explains(other, finding, gpus)}
    boards = {other.id for other in found if other.layer == "hardware"}
    causes: list[str] = []
    seen = {finding.id}
    queue = [*finding.downstream_of, *(_ENVIRONMENT if _in_environment(finding) else ())]
    while queue:
        cause = queue.pop(0)
        if cause in seen:
            continue
        seen.add(cause)
        if cause in present:
            if finding.layer != "hardware" or cause in boards or cause in finding.downstream_of:
                causes.append(cause)
        else:
            queue.extend(declared.get(cause, ()))
    return tuple(causes)


def _in_environment(finding: Finding) -> bool:
    return any(step.where == "environment" for fix in finding.fixes for step in fix.steps)


def _explains(other: Finding, finding: Finding, gpus: Mapping[str, str]) -> bool:
    own = "" if finding.id.startswith("nvlink-") else gpus.get(finding.subject, "")
    elsewhere = own and other.layer in _OF_ONE_GPU and gpus.get(other.subject, own) != own
    return _STATUS[other.status] <= _STATUS[finding.status] and not elsewhere


def _folded(finding: Finding, ranked: Sequence[Finding], gpus: Mapping[str, str]) -> Finding:
    """The finding as a consequence of its root cause; unchanged where it has none, or where its causes are a circle."""
    chain = [finding]
    while chain[-1].downstream_of:
        wanted = chain[-1].downstream_of[0]
        cause = next(one for one in ranked if one.id == wanted and _explains(one, chain[-1], gpus))
        if any(cause.id == one.id for one in chain):
            return finding
        chain.append(cause)
    if len(chain) == 1:
        return finding
    fixes = () if any(cause.fixes for cause in chain[1:]) else finding.fixes
    return replace(finding, cause=chain[-1].id, fixes=fixes)


def _key(finding: Finding) -> tuple[bool, int, int, int, bool, str, str]:
    return (
        bool(finding.downstream_of),
        _STATUS[finding.status],
        LAYERS.index(finding.layer),
        _SEVERITY[finding.severity],
        not finding.direct,
        finding.id,
        finding.subject,
    )
