"""Every machine from its files and its driver's answers to the report: exactly the expected findings, cause first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.judge.plan import plan
from doctor.judge.report import Report
from doctor.probes.collect import snapshot_of
from doctor.report.terminal import Display, render_terminal
from doctor.targets.recording import read_recording
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)

from ..fix.hostile import faults
from ..install_lines import of_fixes, unpublished
from ..judging import matrix
from ..rows import Faults, share
from ..screens.heights import hidden, too_tall
from ..soundness.selected import selection_faults
from ..soundness.sound import assert_fixes_are_sound
from . import first_steps, fix_tables, spec_copies, take, typed
from .causes import listed_once
from .contradictions import LAYERS, contradictions
from .steps import broken_rules
from .torch_build import Workshop
from .which_torch import adds_warnings, answers, newest_is_named

Judged = dict[str, tuple[dict[str, Any], int, str]]
PARTS = 12
"""The first part is quick; each part has machines and cases of all kinds."""


def judge_all(names: list[str], folder: Path, fakes: Path) -> Judged:  # noqa: F811
    """These scenarios, judged; two at a time and more, since they mostly wait for children."""
    workshop = Workshop(folder / "workshop")

    def one(name: str) -> tuple[dict[str, Any], int, str]:
        scenario = take.load(name)
        recording = take.record(scenario, folder / name, fakes, workshop)
        return take.check(recording, *scenario.check)

    with ThreadPoolExecutor(4) as pool:
        return dict(zip(names, pool.map(one, names), strict=True))


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_scenarios(part: int, tmp_path: Path, fakes: Path) -> None:  # noqa: F811
    judged = judge_all(share(take.names(), part, PARTS), tmp_path, fakes)
    quoted: set[Any] = set()
    with Faults() as found:
        for name, (report, code, stderr) in judged.items():
            tests = (
                as_expected,
                fixes_are_sound,
                lines_are_published,
                no_contradiction,
                one_torch,
                a_cause_is_listed_once,
                one_cause_fits_on_two_screens,
                steps_are_safe,
                first_steps_were_read,
                no_command_is_repeated,
                a_sound_machine_meets_its_own_spec,
                said_as_written,
            )
            for test in tests:
                with found.of(f"{name}: {test.__name__}"):
                    test(name, report, code, stderr)
            saved = msgspec.convert(report, Report, strict=False)
            with found.of(f"{name}: facts in commands are quoted"):
                assert not faults(saved, quoted)
            with found.of(f"{name}: each check named alone"):
                assert not selection_faults(saved)
            with found.of(f"{name}: commands hold no mask"):
                machine = snapshot_of(read_recording(str(tmp_path / name / "recording")))
                assert not typed.faults(typed.of_somebody(machine, len(name)), saved.policy)


def as_expected(name: str, report: dict[str, Any], code: int, stderr: str) -> None:
    assert report, stderr
    found = [[finding["id"], finding["status"]] for finding in report["findings"]]
    told = {"verdict": report["verdict"], "exit_code": code, "findings": found}
    details = "\n".join(f"{f['id']}: {f['title']}: {f['detail']} {f['facts']}" for f in report["findings"])
    assert told == take.load(name).expected, details
    assert report["exit_code"] == code
    assert "Traceback" not in stderr
    assert not [row for row in report["checks"] if "itself failed" in row["reason"]]


def fixes_are_sound(_name: str, report: dict[str, Any], _code: int, _stderr: str) -> None:
    """Judged as the replay judged it: the same Snapshot and Policy, by the saved report."""
    saved = msgspec.convert(report, Report, strict=False)
    assert_fixes_are_sound(saved.snapshot, saved.policy)


def no_command_is_repeated(_name: str, report: dict[str, Any], _code: int, _stderr: str) -> None:
    """In the plan that `fix` would carry out: what a step did, none after it does again. A look may be repeated."""
    saved = msgspec.convert(report, Report, strict=False)
    steps = [step for one in plan(saved.snapshot, matrix(), saved.policy).fixes for step in one.fix.steps]
    commands = [step.command for step in steps if step.command and step.purpose == "change"]
    assert [command for command in dict.fromkeys(commands) if commands.count(command) > 1] == []


def lines_are_published(_name: str, report: dict[str, Any], _code: int, _stderr: str) -> None:
    """Torch, its companions and their indexes as the matrix has them."""
    lines = {line for f in report["findings"] for line in of_fixes(f["fixes"])}
    assert [problem for line in sorted(lines) for problem in unpublished(line)] == []


def one_torch(_name: str, report: dict[str, Any], _code: int, _stderr: str) -> None:
    """Every command names the same torch, or says why not; each fix names the newest that fits; none adds a fault."""
    saved = msgspec.convert(report, Report, strict=False)
    found = answers(saved.snapshot, saved.policy)
    assert [one for one in found.differences if not one.why] == []
    assert newest_is_named(found) == []
    for torch in {found.resolve, *(one.torch for one in found.named)} - {""}:
        assert adds_warnings(saved.snapshot, saved.policy, torch) == [], torch


def steps_are_safe(_name: str, saved: dict[str, Any], _code: int, _stderr: str) -> None:
    """What ends others' work, widens access or only looks: the rules of `steps.py`."""
    assert not broken_rules(msgspec.convert(saved, Report, strict=False))


def a_sound_machine_meets_its_own_spec(_name: str, saved: dict[str, Any], _code: int, _stderr: str) -> None:
    """And each copy with one version changed does not, and is told which."""
    if saved["verdict"] in ("pass", "warn"):
        assert spec_copies.faults(msgspec.convert(saved, Report, strict=False).snapshot) == []


def first_steps_were_read(name: str, saved: dict[str, Any], _code: int, _stderr: str) -> None:
    """Each first step stands in the table as it is printed, and its reader said that it works there."""
    table = [row for row in first_steps.read() if row.machine == name]
    assert [row.printed for row in table] == [row.printed for row in first_steps.rows_of(name, saved)]
    assert all(row.works == "yes" and row.why for row in table), table


def said_as_written(name: str, saved: dict[str, Any], _code: int, _stderr: str) -> None:
    """Each finding with all that is advised, word by word."""
    written = {key: text for key, text in fix_tables.read().items() if key[2] == name}
    assert written == fix_tables.tables_of(name, saved)


def no_contradiction(_name: str, saved: dict[str, Any], _code: int, _stderr: str) -> None:
    """The report does not contradict itself, and its first and last screens say what is wrong and what to do."""
    report = msgspec.convert(saved, Report, strict=False)
    assert not contradictions(report)
    rows = render_terminal(report, LAYERS, Display(width=80)).splitlines()
    for failed in report.findings[:1]:
        assert (
            failed.title.split()[0] in " ".join(rows[:24]) and any("Fix: " in row for row in rows[:24])
        ) or not failed.fixes
        ending = " ".join(" ".join(rows[-20:]).split())
        assert " ".join(failed.title.split()).rstrip(".") in ending, "what is wrong is on the last screen"
        if failed.fixes:
            step = failed.fixes[0].steps[0]
            to_do = (step.command.partition("\n")[0] or step.text, step.text)
            assert any(" ".join(words.split()) in ending for words in to_do), "and what to do"


def a_cause_is_listed_once(_name: str, saved: dict[str, Any], _code: int, _stderr: str) -> None:
    listed_once(msgspec.convert(saved, Report, strict=False))


def one_cause_fits_on_two_screens(_name: str, saved: dict[str, Any], _code: int, _stderr: str) -> None:
    """Of 80 x 24; what is folded for that, -v shows."""
    report = msgspec.convert(saved, Report, strict=False)
    assert not too_tall(report)
    assert not hidden(report)
