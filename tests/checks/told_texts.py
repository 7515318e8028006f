"""Checks that the words of a text alone decide: nothing on a machine, one finding with its fix, nothing of near misses."""

from __future__ import annotations

from doctor.findings import Finding
from doctor.text import read

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run


def assert_silent_on_machines(check: str) -> None:
    """Skipped with a reason, on a host and in a container: there is no text."""
    for machine in (healthy(), healthy(container=True)):
        status, reason, said = run(check, machine)
        assert (status, said) == ("skipped", []) and reason


def the_only_failure(text: str, check: str) -> Finding:
    """The text's one failure, whose first fix takes it away."""
    s = read(text)
    found = [f for f in report(s).findings if f.status == "fail"]
    assert [f.id for f in found] == [check]
    assert found[0].detail.startswith("The text says so. Line ")
    assert_fix_works(s, found[0])
    return found[0]


def assert_not_told(text: str, check: str) -> None:
    """A text that only looks like it."""
    assert check not in ids(read(text), status="fail")


def commands(finding: Finding) -> str:
    """What the first fix types."""
    return "\n".join(step.command for step in finding.fixes[0].steps)
