"""The root cause first: which finding explains which, and in what order they are told (DESIGN rule 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ..findings import LAYERS, Finding

_STATUS = {"fail": 0, "unknown": 1, "warn": 2, "pass": 3, "skipped": 4}
_SEVERITY = {"critical": 0, "error": 1, "warning": 2, "info": 3}


def rank(findings: Iterable[Finding], declared: Mapping[str, tuple[str, ...]]) -> tuple[Finding, ...]:
    """Findings in the order of DESIGN rule 6; `downstream_of` of each is cut to the causes that were really found.

    `declared` maps each check id to the ids that it is downstream of. A cause that is itself no finding passes its
    own causes on: c downstream of b downstream of a folds c under a where b did not fire. A warning never explains
    a failure.
    """
    found = list(findings)
    worst: dict[str, int] = {}
    for finding in found:
        worst[finding.id] = min(worst.get(finding.id, 9), _STATUS[finding.status])
    result = []
    for finding in found:
        causes = _present_causes(finding, worst, declared)
        result.append(replace(finding, downstream_of=causes))
    return tuple(sorted(result, key=_key))


def _present_causes(
    finding: Finding, worst: Mapping[str, int], declared: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    causes: list[str] = []
    seen = {finding.id}
    queue = list(finding.downstream_of)
    while queue:
        cause = queue.pop(0)
        if cause in seen:
            continue
        seen.add(cause)
        if cause in worst and worst[cause] <= _STATUS[finding.status]:
            causes.append(cause)
        else:
            queue.extend(declared.get(cause, ()))
    return tuple(causes)


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
