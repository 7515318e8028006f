"""The judge's wrapper for texts: what the messages decide, what is left open, and what would decide it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..findings import Finding, Policy
from ..judge import Examined, Report, compose, examine, load_all
from ..judge.judge import left_out
from ..judge.report import TextReport
from ..snapshot import Snapshot
from .cause_pages import load_causes
from .complaint import no_mismatch, not_missed
from .decided import decided, forgetting
from .enrich import enriched
from .fixes.offer import doable, made
from .quoted import quoted
from .suspects import left_open, needs, of_messages, proven, suspected
from .torch_cleared import with_cleared_torch
from .unread import with_unread

if TYPE_CHECKING:
    from compat_matrix import Matrix

EFFECTS = frozenset(("gpu-path-not-available", "cuda-init-failed", "torch-import-broken", "gpu-expectation-unmet"))
"""Checks that show that something fails but not why: UNKNOWN for a text that does not show the cause."""


def diagnose(snapshot: Snapshot, matrix: Matrix, policy: Policy) -> Report:
    """Judge the Snapshot of a text like that of a machine, and add what only its words show.

    The report names the lines of the findings and of the whole, and what of the text was not read.
    """
    report = _judged(snapshot, matrix, policy)
    report = quoted(with_unread(report, report.snapshot.unread) if report.snapshot.unread else report)
    if not report.snapshot.question or report.text is None:
        return report
    from .question import answers

    found = answers(report.snapshot, matrix)
    if report.verdict == "fail":  # the finding has the fix
        found = tuple(answer for answer in found if not answer.command)
    return replace(report, text=replace(report.text, answers=found))


def _judged(snapshot: Snapshot, matrix: Matrix, policy: Policy) -> Report:
    s = enriched(snapshot, matrix)
    catalogue = sorted([*load_all(), *load_causes()], key=lambda one: one.id)
    judged = [no_mismatch(not_missed(one, s), s) for one in examine(s, matrix, policy, catalogue)]
    s = with_cleared_torch(s, judged)
    examined = without_causes(
        [one if left_out(one.check.id, policy) else _with_words(one, s, matrix) for one in judged], s
    )
    report = compose(s, matrix, policy, examined, open_counts=False)  # a text leaves most checks open
    left = left_open(s, report.findings, report.checks)
    report = replace(report, possible=left.ids, text=TextReport(possible=left.causes, nothing=left.nothing))
    if report.verdict != "unknown":
        return report
    more = suspected(s, matrix, left, catalogue)
    text = TextReport(possible=left.causes, nothing=left.nothing, messages=of_messages(s, report.checks))
    named = next((f for f in more if f.status == "warn"), None)
    return replace(
        report,
        text=text,
        remarks=(*report.remarks, *(f for f in more if f.status == "pass")),
        findings=(*(f for f in more if f.status != "pass"), *report.findings),
        needs=needs(left.ids if left.sick else (), s),
        likely=named.id if named else "",
    )


def _with_words(one: Examined, s: Snapshot, m: Matrix) -> Examined:
    """What a check says with the text's words: where it finds nothing and a message decides it, that is the finding."""
    if one.status != "fail":
        by_facts = one.status == "warn" or (one.status == "pass" and bool(one.findings))
        if decisive := list(decided(one.check.about, s, by_facts)):
            remarks = [f for f in one.findings if f.status == "pass"]
            one = one._replace(status=decisive[0].status, reason="", findings=(*decisive, *remarks))
    findings = [made(f, partial(_fixed, f, s, m)) if f.fixes else (f,) for f in one.findings]
    return one._replace(findings=tuple(finding for some in findings for finding in some))


def _fixed(finding: Finding, s: Snapshot, m: Matrix) -> Finding:
    return doable(forgetting(finding, s), s, m)


def without_causes(examined: Sequence[Examined], s: Snapshot) -> list[Examined]:
    """Effects whose cause the text does not show become UNKNOWN; with a proven cause, missing facts do not matter."""
    findings = [f for one in examined for f in one.findings if f.id not in EFFECTS]
    if any(f.status == "fail" for f in findings):
        return [_without_untold(one) for one in examined]
    if any(f.status == "warn" and proven(f, s) for f in findings):
        examined = [_without_untold(one) for one in examined]
    return [_effect(one) if one.check.id in EFFECTS and one.status == "fail" else one for one in examined]


def _without_untold(one: Examined) -> Examined:
    return one._replace(findings=tuple(f for f in one.findings if not _untold(f)))


def _untold(finding: Finding) -> bool:
    return finding.id == "required-fact-missing" and finding.facts.get("reason") == "not-asked"


def _effect(one: Examined) -> Examined:
    findings = tuple(
        replace(f, status="unknown", severity="warning", fixes=()) if f.status == "fail" else f for f in one.findings
    )
    return one._replace(status="unknown", reason="the text does not show the cause", findings=findings)
