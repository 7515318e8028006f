"""What the user selected: each check that --only names is required, and where nothing was examined nothing is sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..findings import Check, Finding, Policy
from .report import CheckResult, Report

_ONLY_IN_A_TEXT = "can only be seen in a log or an error message (gpudoctor explain)"


def not_checked(
    checks: Sequence[CheckResult], findings: Sequence[Finding], about: Mapping[str, Check], policy: Policy
) -> Iterator[Finding]:
    """A required unknown for each check that `--only` names and that is unknown or was not examined.

    Without `--only` one where `--skip` left nothing to examine. `findings`: those of the checks themselves.
    """
    rows = {check.id: check for check in checks}
    unknown = {finding.id for finding in findings if finding.status == "unknown"}
    for name in policy.only:
        row = rows.get(name)
        why = _ONLY_IN_A_TEXT if row is None else row.reason if _open(row) and name not in unknown else ""
        if why:
            yield _finding(name, why, about.get(name))
    if checks and not policy.only and all(check.status == "skipped" for check in checks):
        left_out = [check.id for check in checks if check.id in policy.skip]
        yield Finding(
            id="required-fact-missing",
            status="unknown",
            severity="warning",
            title="Nothing was checked",
            detail=f"--skip excludes {len(left_out)} checks, and none of the others applies here.",
            facts={"skipped": len(left_out)},
        )


def must_be_heard(full: Sequence[Finding], silenced: Sequence[Finding]) -> str:
    """The id of a failure or required unknown that is among `full` and not among `silenced`; empty if none is."""
    left = {(one.id, one.subject, one.status) for one in silenced}
    left |= {(one.id, one.subject, "unknown") for one in silenced if one.status == "fail"}
    loud = (one for one in full if one.status in ("fail", "unknown"))
    return next((one.id for one in loud if (one.id, one.subject, one.status) not in left), "")


def _open(row: CheckResult) -> bool:
    return row.status == "unknown" or row.skip == "not-examined"


def _finding(name: str, why: str, about: Check | None) -> Finding:
    from ..findings.reasons import REASON, by_root, needed, reason_words

    words = reason_words(why)
    words = f"it needs {needed(words)}" if REASON.fullmatch(why) and not by_root(why) else words
    return Finding(
        id=name,
        status="unknown",
        severity="warning",
        title=f"{name} was not checked: {words}",
        layer=about.layer if about else "hardware",
        downstream_of=about.downstream_of if about else (),
    )


def nothing_to_check(report: Report) -> str:
    """`nothing to check: only one GPU`, where none of the checks that `--only` names applies; else empty."""
    named = [check for check in report.checks if check.id in report.policy.only]
    if report.verdict != "pass" or not named or any(check.skip != "does-not-apply" for check in named):
        return ""
    return f"nothing to check: {'; '.join(dict.fromkeys(check.reason for check in named))}"
