"""What a node's report says is wrong: its own verdict, or that of this gpudoctor; and whose it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ...findings import Finding, Fix, Matrix, Policy
from ...judge import judge, load, verdict_of
from ...snapshot import Snapshot, known

_USERS = ("python", "extension")
_USERS_TAGS = frozenset(("torch", "cudnn", "framework", "extension", "triton"))
"""Of checks of libraries and of what they ask of a driver: those that a Python environment brings."""


class Verdict(NamedTuple):
    """A node's verdict and its root findings, each with whether it is the user's alone."""

    word: str
    plain: str
    """By its findings alone: `word` says unknown where only some checks were asked for."""
    roots: tuple[tuple[Finding, bool], ...]


def judged_here(snapshot: Snapshot, policy: Policy, day: str) -> tuple[tuple[Finding, ...], str]:
    """Findings and verdict by this gpudoctor and its matrix, as of a day (ISO)."""
    report = judge(snapshot, our_matrix(), replace(policy, judged_on=day))
    return report.findings, report.verdict


@cache
def our_matrix() -> Matrix:
    from compat_matrix import Matrix

    return Matrix.load()


def judged_bytes(task: bytes) -> bytes:
    """The same for another process: (Snapshot, policy, day) as JSON to (findings, verdict) as JSON."""
    snapshot, policy, day = msgspec.json.decode(task, type=tuple[Snapshot, Policy, str])
    return msgspec.json.encode(judged_here(snapshot, policy, day))


def task_of(snapshot: Snapshot, policy: Policy, day: str) -> bytes:
    return msgspec.json.encode((snapshot, policy, day))


def result_of(data: bytes) -> tuple[tuple[Finding, ...], str]:
    return msgspec.json.decode(data, type=tuple[tuple[Finding, ...], str])


def node_verdict(findings: Sequence[Finding], word: str, snapshot: Snapshot, policy: Policy) -> Verdict:
    """The node's part of a verdict. Findings of the user's Python count where somebody named an environment, a package
    or a spec."""
    chosen = known(snapshot.python.chosen_because) or ""
    users_count = bool(policy.require or policy.spec) or chosen.startswith("--python")
    marked = [(finding, not users_count and is_users(finding.layer, finding.id)) for finding in findings]
    own = [finding for finding, users in marked if not users]
    found = plain = verdict_of(own)
    if found in ("pass", "warn") and word == "unknown" and not any(f.status == "unknown" for f in findings):
        found = "unknown"  # checks that could not judge, where the policy counts them
    if found in ("pass", "warn") and (policy.only or known(snapshot.host.system) is None):
        found = "unknown"  # only some checks were asked for, or nothing was looked at: that is not healthy
    return Verdict(
        found, plain, tuple((_for_all(f), users) for f, users in marked if not f.cause and f.status != "pass")
    )


def is_users(layer: str, check_id: str) -> bool:
    """Whether a finding is about a Python environment, not about the node."""
    return layer in _USERS or (layer in ("libraries", "driver") and bool(_USERS_TAGS.intersection(_tags(check_id))))


@lru_cache(maxsize=512)
def _tags(check_id: str) -> tuple[str, ...]:
    try:
        return load(check_id).about.tags
    except (KeyError, ImportError):  # of another version
        return ()


def _for_all(finding: Finding) -> Finding:
    """With one fix, and without the facts that its steps change, so that it is the same on many nodes."""
    return replace(finding, fixes=tuple(_without_changes(fix) for fix in _first(finding.fixes)))


def _first(fixes: Iterable[Fix]) -> Iterable[Fix]:
    return tuple(fixes)[:1]


def _without_changes(fix: Fix) -> Fix:
    return replace(fix, steps=tuple(replace(step, changes={}) for step in fix.steps))
