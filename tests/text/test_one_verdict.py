"""One verdict: what a message may make of a check, and no fault of a fix that hides."""

from __future__ import annotations

import pytest

from benchmarks.verdicts import texts
from doctor.judge import Registered, load_all
from doctor.judge.report import Report
from doctor.snapshot import Snapshot, Symptom, Target
from doctor.text import read
from doctor.text.cause_pages import load_causes
from doctor.text.diagnose import EFFECTS
from doctor.text.messages import catalogue

from ..judging import report
from .test_wall import EVERY

CHECKS = {check.id: check for check in (*load_all(), *load_causes())}


def judged(check: Registered, happened: bool) -> Report:
    """A text that holds nothing but a message which decides the check."""
    said = Symptom(id="x", line=1, text="x", means="x", decides=check.id, fix="Do it.", happened=happened)
    return report(Snapshot(target=Target(kind="text"), symptoms=(said,)))


@pytest.mark.slow
def test_the_checks_own_severity_wins_over_a_message() -> None:
    wrong = []
    for check in CHECKS.values():
        severity = check.about.severity
        for happened in (False, True):
            found = [f.status for f in judged(check, happened).findings if f.id == check.id]
            mild = {} if happened else {"info": [], "warning": ["warn"]}
            expected = mild.get(severity, ["fail"])
            expected = ["unknown"] if check.id in EFFECTS else expected
            if check.id != "required-fact-missing" and found != expected:
                wrong.append((check.id, severity, happened, found))
    assert {check.about.severity for check in CHECKS.values()} >= {"info", "warning", "error"}
    assert not wrong


def test_rows_that_say_that_it_happened_decide_what() -> None:
    rows = [message for message in catalogue() if message.happened]
    assert rows
    assert [m.id for m in rows if not m.decides] == []


def test_a_full_shared_memory_is_a_failure_by_the_error_and_else_a_warning() -> None:
    state = "shm              65536   65536         0 100% /dev/shm"
    error = "RuntimeError: unable to write to file </torch_12_34>"
    statuses = {
        text: [f.status for f in report(read(text)).findings if f.id == "shm-too-small"] for text in (state, error)
    }
    assert statuses == {state: ["warn"], error: ["fail"]}


@pytest.mark.slow
def test_no_fault_of_a_fix_hides_in_a_report() -> None:
    faults = [
        f"{name}: {remark.title}: {remark.facts['internal']}"
        for name, text in list(texts())[1::EVERY]
        for remark in report(read(text)).remarks
        if "internal" in remark.facts
    ]
    assert not faults
