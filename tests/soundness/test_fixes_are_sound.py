"""DESIGN rule 5 as a property: a failing finding's first fix removes it, breaks nothing, and repeating it ends."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, note, settings

from doctor.findings import Finding, Policy
from doctor.snapshot import Snapshot

from ..judging import POLICY, report
from .machines import machines

EXAMPLES = int(os.environ.get("GPUDOCTOR_SOUNDNESS_EXAMPLES", "300"))


def failures(s: Snapshot, policy: Policy) -> dict[tuple[str, str], Finding]:
    return {(f.id, f.subject): f for f in report(s, policy).findings if f.status == "fail"}


def apply_first_fix(s: Snapshot, finding: Finding) -> Snapshot:
    for step in finding.fixes[0].steps:
        s = s.replace(step.changes)
    return s


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(machines())
def test_first_fixes_are_sound(machine: Snapshot) -> None:
    sick = machine
    for _ in range(12):
        found = failures(sick, POLICY)
        if not found:
            return
        for key, finding in found.items():
            assert finding.fixes, f"{finding.id} offers no fix: {finding.title}"
            after = failures(apply_first_fix(sick, finding), POLICY)
            note(f"{key}: {finding.title} -> {finding.fixes[0].title}; before {sorted(found)}, after {sorted(after)}")
            assert key not in after, f"{finding.id} is still there after its first fix"
            new = {f"{k[0]}: {after[k].title}" for k in after.keys() - found.keys() if not _revealed(after[k], found)}
            assert not new, f"the fix of {finding.id} brings new failures: {new}"
        root = next(iter(found.values()))
        sick = apply_first_fix(sick, root)
    raise AssertionError(f"twelve fixes and still failing: {sorted(failures(sick, POLICY))}")


def _revealed(finding: Finding, before: dict[tuple[str, str], Finding]) -> bool:
    """The same cause on another subject (a GPU that was hidden, say) is not a new failure."""
    return any(finding.id == check_id for check_id, _ in before)
