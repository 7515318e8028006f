"""The plan that `gpudoctor fix` prints: the fixes of what failed and of what is warned of, in order, each step once.

It is found by judging: the root cause's first fix is applied to the Snapshot, the result is judged again, and so on.
What a fix already removes (its consequences) needs no step of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from ..findings import Finding, Fix, Matrix, Policy
from ..snapshot import Missing, Snapshot
from .judge import judge
from .report import Report, Verdict

Assess: TypeAlias = Callable[[Snapshot, "Matrix", Policy], Report]
_MOST_FIXES = 24


class Planned(Struct, frozen=True, kw_only=True):
    """One fix of the plan."""

    finding: Finding
    fix: Fix
    removes: tuple[str, ...] = ()
    """Ids of the failures and warnings that this fix makes go away, its own first."""
    waits_for: tuple[str, ...] = ()
    """Ids of findings that explained this one before any fix: their fixes come first."""
    look_again: bool = False
    """The outcome cannot be known beforehand: run gpudoctor check after it."""


class Plan(Struct, frozen=True, kw_only=True):
    """An ordered plan. `ends`: nothing-to-do, pass, look-again (unknown until then) or stuck (no fix is known)."""

    verdict: Verdict
    """Of the machine as it is, before any step."""
    fixes: tuple[Planned, ...] = ()
    ends: Literal["nothing-to-do", "pass", "look-again", "stuck"]
    unfixed: tuple[Finding, ...] = ()
    """What failed (or is warned of, with a fix) and has no fix that removes it."""


def plan(snapshot: Snapshot, matrix: Matrix, policy: Policy, only: str = "", assess: Assess = judge) -> Plan:
    """The plan for every failure and for every warning that has a fix, or (`only`) for the findings of one check: for
    their cause, as long as they are consequences.

    `assess`: who judges each state on the way.
    """
    planned: list[Planned] = []
    unfixed: dict[tuple[str, str], Finding] = {}
    now = snapshot
    first: dict[tuple[str, str], tuple[str, ...]] = {}
    verdict: Verdict | None = None
    for _ in range(_MOST_FIXES):
        report = assess(now, matrix, policy)
        verdict = verdict or report.verdict
        for found in report.findings:
            first.setdefault((found.id, found.subject), found.downstream_of)
        todo = _of(only, report.findings) if only else [f for f in report.findings if _asks_for_steps(f)]
        todo = [f for f in todo if (f.id, f.subject) not in unfixed]
        if not todo:
            break
        finding = todo[0]
        after = _after(now, finding.fixes[0]) if finding.fixes else now
        left = {(f.id, f.subject) for f in assess(after, matrix, policy).findings}
        if after == now or (finding.id, finding.subject) in left:
            unfixed[finding.id, finding.subject] = finding
            continue
        gone = [
            f.id
            for f in report.findings
            if ((f.cause and f.status != "unknown") or _asks_for_steps(f)) and (f.id, f.subject) not in left
        ]
        fix = finding.fixes[0]
        planned.append(
            Planned(
                finding=finding,
                fix=fix,
                removes=tuple(dict.fromkeys([finding.id, *gone])),
                waits_for=first[finding.id, finding.subject],
                look_again=_unknown_after(fix),
            )
        )
        now = after
    ends: Literal["nothing-to-do", "pass", "look-again", "stuck"] = "pass"
    if unfixed:
        ends = "stuck"
    elif not planned:
        ends = "nothing-to-do"
    elif any(p.look_again for p in planned):
        ends = "look-again"
    assert verdict is not None  # the loop runs at least once
    return Plan(verdict=verdict, fixes=tuple(planned), ends=ends, unfixed=tuple(unfixed.values()))


def _of(check_id: str, findings: Sequence[Finding]) -> list[Finding]:
    """What to repair so that this check finds nothing: its findings, and the causes that have their fixes."""
    folded = [f for f in findings if f.id == check_id and f.cause and not f.fixes]
    ids = {check_id}.union(*({f.cause, *f.downstream_of} for f in folded))
    return [f for f in findings if f.id in ids and (f.fixes or not f.cause)]


def _asks_for_steps(finding: Finding) -> bool:
    """What failed, and what is a warning or a fact in need where a fix is known; a consequence waits for its cause."""
    if finding.cause and not finding.fixes:
        return False
    return finding.status == "fail" or (finding.status in ("warn", "unknown") and bool(finding.fixes))


def _after(snapshot: Snapshot, fix: Fix) -> Snapshot:
    for step in fix.steps:
        snapshot = snapshot.replace(step.changes)
    return snapshot


def _unknown_after(fix: Fix) -> bool:
    """What torch says of itself is looked at again anyway; the driver, the GPUs and the container decide the rest."""
    return any(
        isinstance(value, Missing) and value.reason == "recheck" and not path.startswith(("torch.", "torch_run."))
        for step in fix.steps
        for path, value in step.changes.items()
    )
