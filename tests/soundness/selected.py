"""Each check of a judged machine named alone by `--only`: never PASS where it could not judge, never an alarm where it
does not apply."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.judge import judge, load
from doctor.judge.report import Report
from doctor.judge.selection import nothing_to_check
from doctor.report.healthline import healthline

from ..judging import matrix


def selection_faults(report: Report) -> list[str]:
    """What is wrong with the verdicts of single checks; empty where all are right."""
    found = []
    for row in report.checks:
        policy = replace(report.policy, only=(row.id,), skip=(), fail_on="fail")
        alone = judge(report.snapshot, matrix(), policy, [load(row.id)])
        again = alone.checks[0]
        if (again.status, again.skip) != (row.status, row.skip):
            found.append(f"{row.id}: {row.status} {row.skip}, named alone {again.status} {again.skip}")
        if (again.status == "skipped") != bool(again.skip):
            found.append(f"{row.id}: {again.status} of the kind {again.skip!r}")
        expected = {"fail": ("fail", 1), "warn": ("warn", 0), "pass": ("pass", 0), "unknown": ("unknown", 3)}
        wanted = expected.get(again.status) or (("pass", 0) if again.skip == "does-not-apply" else ("unknown", 3))
        if (alone.verdict, alone.exit_code) != wanted:
            found.append(f"{row.id} is {again.status} {again.skip}: {alone.verdict}, exit {alone.exit_code}")
        if again.skip == "does-not-apply" and again.reason not in nothing_to_check(alone):
            found.append(f"{row.id}: the verdict does not say that there was nothing to check")
        if wanted[0] == "unknown" and not (alone.findings and healthline(alone).startswith("UNKNOWN ")):
            found.append(f"{row.id}: no line says why it is unknown")
    return found
