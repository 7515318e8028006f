"""The report for a terminal."""

from __future__ import annotations

from ..judge.report import Report


def render_terminal(report: Report) -> str:
    """The findings, root cause first, and the verdict."""
    lines = []
    for finding in report.findings:
        lines.append(f"{finding.status.upper()} {finding.id}: {finding.title}")
        if finding.detail:
            lines.append(f"  {finding.detail}")
        lines += [f"  {step.text}" for fix in finding.fixes[:1] for step in fix.steps]
    return "\n".join([*lines, f"verdict: {report.verdict} (exit {report.exit_code})", ""])
