"""What a check's test says: who found what on this Snapshot."""

from __future__ import annotations

from functools import lru_cache

from compat_matrix import Matrix
from doctor.commands.assess import assess
from doctor.findings import Finding, Policy
from doctor.judge import load, run_check
from doctor.judge.report import Report
from doctor.snapshot import Snapshot

from . import said

POLICY = Policy(judged_on="2026-11-20")


@lru_cache(maxsize=1)
def matrix() -> Matrix:
    return Matrix.load()


def report(snapshot: Snapshot, policy: Policy = POLICY) -> Report:
    """The whole catalogue's report."""
    judged = assess(snapshot, matrix(), policy)
    said.note(judged)
    return judged


def ids(snapshot: Snapshot, policy: Policy = POLICY, status: str = "") -> list[str]:
    """Ids of the findings, root cause first."""
    return [f.id for f in report(snapshot, policy).findings if not status or f.status == status]


def run(check_id: str, snapshot: Snapshot, policy: Policy = POLICY) -> tuple[str, str, list[Finding]]:
    """Status, reason and findings of one check."""
    status, reason, findings = run_check(load(check_id), snapshot, matrix(), policy)[:3]
    said.note_end(check_id, status, reason, findings)
    return status, reason, findings


def assert_fix_works(
    snapshot: Snapshot, finding: Finding, policy: Policy = POLICY, before: Report | None = None
) -> None:
    """DESIGN rule 5: after the first fix's changes the finding is gone and no new failure is there.

    `before`: the snapshot's report, where it is at hand.
    """
    assert finding.fixes, f"{finding.id} offers no fix"
    after = snapshot
    for step in finding.fixes[0].steps:
        after = after.replace(step.changes)
    assert after != snapshot, f"{finding.id}: its first fix changes no fact"
    failed = {(f.id, f.subject) for f in (before or report(snapshot, policy)).findings if f.status == "fail"}
    remaining = {(f.id, f.subject) for f in report(after, policy).findings if f.status == "fail"}
    assert (finding.id, finding.subject) not in remaining, f"{finding.id} is still there after its first fix"
    assert remaining <= failed, f"the fix of {finding.id} brings new failures: {remaining - failed}"
