"""The public cases of `benchmarks/cases`: no cause is called certain that is not theirs, and sound ones do not fail."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.cases import load_cases, renderer
from doctor.commands.assess import known_ids
from doctor.findings import Finding
from doctor.judge.report import Report
from doctor.text import read

from ..install_lines import of_fixes, unpublished
from ..judging import POLICY, report
from ..rows import Faults, for_each, share
from ..soundness.sensible import wrong_with

CASES = {case["id"]: case for case in load_cases()}
render = renderer()


@cache
def told(name: str) -> Report:
    return report(read(render(CASES[name])))


def findings(name: str) -> tuple[Finding, ...]:
    return told(name).findings


def right(name: str) -> tuple[str, ...]:
    return (CASES[name]["root_cause"]["slug"], *CASES[name]["also"])


def certain(name: str) -> str:
    """Id of the first finding where it is a failure."""
    first = findings(name)[0] if findings(name) else None
    return first.id if first is not None and first.status == "fail" else ""


TENTH = share(sorted(CASES, key=lambda name: (CASES[name]["root_cause"]["slug"], name)), 0, 10)
"""Of each cause a tenth: they are in the order of their causes."""
REST = sorted(CASES.keys() - set(TENTH))


def is_right(name: str) -> None:
    """A sound case has no failure, and a failure that comes first is the case's own."""
    case = CASES[name]
    assert case["source"].startswith("https://")
    if case["healthy"]:
        assert [f.id for f in findings(name) if f.status == "fail"] == []
    else:
        assert set(right(name)) <= {*known_ids(), "healthy"}
        assert certain(name) in ("", *right(name))


def pointless(name: str) -> list[str]:
    """Installs of what the text says is there, drivers or libcudas that cannot serve its GPU."""
    return [why for finding in findings(name) for why in wrong_with(told(name).snapshot, finding, POLICY)]


def not_published(names: list[str]) -> list[str]:
    """Install lines whose torch, companions or index the matrix does not have."""
    lines = {line for name in names for finding in findings(name) for line in of_fixes(finding.fixes)}
    assert sum("torch==" in line for line in lines) > len(names) / 50
    return [problem for line in sorted(lines) for problem in unpublished(line)]


@for_each("name", TENTH)
def test_a_tenth_of_the_cases(name: str) -> None:
    is_right(name)
    assert not pointless(name)


def test_install_lines_of_a_tenth_name_what_is_published() -> None:
    assert len({CASES[name]["root_cause"]["slug"] for name in TENTH}) > 30
    assert not_published(TENTH) == []


@pytest.mark.slow
def test_every_other_case_and_nearly_all_that_can_be_decided_are() -> None:
    """Of threads that were read whole, and of excerpts, which tell less. One worker reads them all once."""
    with Faults() as faults:
        for name in REST:
            with faults.of(name):
                is_right(name)
                assert not pointless(name)
        with faults.of("install lines"):
            assert not_published(list(CASES)) == []
        for excerpt, most, part in ((False, 300, 0.95), (True, 100, 0.8)):
            cases = [name for name, case in CASES.items() if case.get("excerpt", False) is excerpt]
            decidable = [name for name in cases if CASES[name]["decidable"] == "yes" and not CASES[name]["healthy"]]
            named = [name for name in decidable if certain(name) or [f.status for f in findings(name)[:1]] == ["warn"]]
            with faults.of("excerpts" if excerpt else "whole threads"):
                assert len(decidable) > most and len(named) > part * len(decidable), set(decidable) - set(named)
