"""What keeps checks from a verdict, reported once: which facts are missing, and which of them the first fix brings
back."""

from __future__ import annotations

from ..findings.reasons import REASON, WHY, by_root, needed, reason_words
from ..judge.report import Report
from .lines import Line, Span, wrap

_MOST = 3


def waiting_lines(report: Report, width: int) -> list[Line]:
    """`12 checks can run after the fix above`, then the other reasons, each once with how many checks it keeps open."""
    shown = {finding.id for finding in report.findings}
    reasons = [check.reason for check in report.checks if check.status == "unknown" and check.id not in shown]
    waits = [reason for reason in reasons if _brought_back(report, reason)]
    follow = {f.id for f in report.findings if f.status == "unknown" and f.cause and report.verdict == "fail"}
    grouped: dict[str, list[str]] = {}
    for reason in reasons:
        if reason not in waits:
            found = REASON.fullmatch(reason)
            why = f"{found[2]}: {found[3]}" if found and found[3] else reason
            grouped.setdefault(why, []).append(reason)
    count = len(waits) + len(follow)
    texts = [f"{_checks(count, 'can', 'can')} run after the fix above."] if count else []
    others = sorted(grouped.values(), key=len, reverse=True)
    for same in others[:_MOST]:
        root_only = len(same) == 1 and by_root(same[0])
        texts.append(
            f"{reason_words(same[0])}."
            if root_only
            else f"{_checks(len(same), 'needs', 'need')} {needed(_all_words(same))}."
        )
    if rest := sum(map(len, others[_MOST:])):
        texts.append(f"{_checks(rest, 'is', 'are')} still undecided for other reasons (-v lists them).")
    return [row for text in texts for row in wrap(text, width, first=Span("? ", "unknown"))]


def _all_words(reasons: list[str]) -> str:
    """The words of reasons that differ in their fact alone."""
    different = list(dict.fromkeys(reasons))
    if len(different) == 1:
        return reason_words(different[0])
    found = REASON.fullmatch(different[0])
    assert found
    what = "GPU readings" if all(r.startswith("gpus.") for r in different) else f"{len(different)} facts"
    return f"{what} ({WHY[found[2]]}: {found[3]})"


def _checks(count: int, one: str, many: str) -> str:
    return f"1 check {one}" if count == 1 else f"{count} checks {many}"


def _brought_back(report: Report, reason: str) -> bool:
    """Whether a fix of the first finding changes the fact that the check lacks."""
    found = REASON.fullmatch(reason)
    first = next((f for f in report.findings if f.status == "fail"), None)
    if not found or first is None:
        return False
    path = found[1]
    changed = {changed for fix in first.fixes[:1] for step in fix.steps for changed in step.changes}
    return any(path == changed_path or path.startswith(f"{changed_path}.") for changed_path in changed)
