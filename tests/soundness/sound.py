"""DESIGN rule 5: a failing finding's first fix removes it, breaks nothing, and repeating it ends; and no fix is pointless."""

from __future__ import annotations

from doctor.findings import Finding, Policy
from doctor.snapshot import Snapshot

from ..judging import POLICY, report
from ..scenarios import words
from ..scenarios.steps import broken_rules
from .sensible import wrong_with

Failures = dict[tuple[str, str], Finding]


def failures(s: Snapshot, policy: Policy) -> Failures:
    return {(f.id, f.subject): f for f in report(s, policy).findings if f.status == "fail"}


def apply_first_fix(s: Snapshot, finding: Finding) -> Snapshot:
    for step in finding.fixes[0].steps:
        s = s.replace(step.changes)
    return s


def assert_fixes_are_sound(machine: Snapshot, policy: Policy = POLICY, rounds: int = 12) -> None:
    """Apply first fixes, root cause by root cause, until nothing fails; every failure's first fix is tried on the way."""
    sick = machine
    for _ in range(rounds):
        judgement = report(sick, policy)
        judged = judgement.findings
        assert not (broken := broken_rules(judgement, last_screen=False)), "\n".join(broken)
        assert not (faults := words.faults(judgement)), "\n".join(faults)
        pointless = [why for finding in judged for why in wrong_with(sick, finding, policy)]
        assert not pointless, "\n".join(pointless)
        found = {(f.id, f.subject): f for f in judged if f.status == "fail"}
        if not found:
            return
        for key, finding in found.items():
            if finding.cause and not finding.fixes:
                continue  # its cause is repaired first; what is left then is judged again
            assert finding.fixes, f"{finding.id} offers no fix: {finding.title}"
            after = failures(apply_first_fix(sick, finding), policy)
            told = f"{key}: {finding.title} -> {finding.fixes[0].title}; before {sorted(found)}, after {sorted(after)}"
            assert key not in after, f"{finding.id} is still there after its first fix. {told}"
            new = {f"{k[0]}: {after[k].title}" for k in after.keys() - found.keys() if not _revealed(after[k], found)}
            assert not new, f"the fix of {finding.id} brings new failures: {new}. {told}"
        sick = apply_first_fix(sick, next(iter(found.values())))
    raise AssertionError(f"{rounds} fixes and still failing: {sorted(failures(sick, policy))}")


def _revealed(finding: Finding, before: Failures) -> bool:
    """The same cause on another subject (a GPU that was hidden, say) is not a new failure."""
    return any(finding.id == check_id for check_id, _ in before)
