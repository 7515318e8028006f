"""Causes that only a text can show: one finding with its fix, and nothing of near misses."""

from __future__ import annotations

from doctor.findings import Finding
from doctor.text import read

from ...judging import assert_fix_works, ids, report


def the_only_failure(text: str, check: str) -> Finding:
    """The text's one failure, whose first fix takes it away."""
    s = read(text)
    found = [f for f in report(s).findings if f.status == "fail"]
    assert [f.id for f in found] == [check]
    assert found[0].detail.startswith("Line ")
    assert_fix_works(s, found[0])
    return found[0]


def assert_not_told(text: str, check: str) -> None:
    """A text that only looks like it."""
    assert check not in ids(read(text), status="fail")


def commands(finding: Finding) -> str:
    """What the first fix types."""
    return "\n".join(step.command for step in finding.fixes[0].steps)
