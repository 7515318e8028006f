"""Every machine from its files and its driver's answers to the report: exactly the expected findings, cause first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.judge.report import Report
from doctor.report.terminal import Look, render_terminal
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)

from ..fix.hostile import faults
from ..install_lines import of_fixes, unpublished
from ..soundness.sound import assert_fixes_are_sound
from . import take
from .contradictions import LAYERS, contradictions
from .torch_build import Workshop

Judged = dict[str, tuple[dict[str, Any], int, str]]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, fakes: Path, request: pytest.FixtureRequest) -> Judged:  # noqa: F811
    """All scenarios that this run asks for, judged; two at a time and more, since they mostly wait for children."""
    wanted = {
        item.callspec.params["name"]
        for item in request.session.items
        if hasattr(item, "callspec") and item.fspath == request.fspath
    }
    wanted = wanted or set(take.names())
    folder = tmp_path_factory.mktemp("scenarios")
    workshop = Workshop(folder / "workshop")

    def one(name: str) -> tuple[dict[str, Any], int, str]:
        scenario = take.load(name)
        recording = take.record(scenario, folder / name, fakes, workshop)
        return take.check(recording, *scenario.check)

    with ThreadPoolExecutor(4) as pool:
        return dict(zip(sorted(wanted), pool.map(one, sorted(wanted)), strict=True))


@pytest.mark.parametrize("name", take.names())
def test_scenario(judged: Judged, name: str) -> None:
    report, code, stderr = judged[name]
    assert report, stderr
    found = [[finding["id"], finding["status"]] for finding in report["findings"]]
    told = {"verdict": report["verdict"], "exit_code": code, "findings": found}
    details = "\n".join(f"{f['id']}: {f['title']}: {f['detail']} {f['facts']}" for f in report["findings"])
    assert told == take.load(name).expected, details
    assert report["exit_code"] == code
    assert "Traceback" not in stderr
    assert not [row for row in report["checks"] if "itself failed" in row["reason"]]


@pytest.mark.parametrize("name", take.names())
def test_fixes_are_sound(judged: Judged, name: str) -> None:
    """Judged as the replay judged it: the same Snapshot and Policy, by the saved report."""
    saved = msgspec.convert(judged[name][0], Report, strict=False)
    assert_fixes_are_sound(saved.snapshot, saved.policy)


def test_install_lines_name_what_is_published(judged: Judged) -> None:
    """Over all scenarios: torch, its companions and their indexes as the matrix has them."""
    lines = {line for report, _, _ in judged.values() for f in report["findings"] for line in of_fixes(f["fixes"])}
    assert [problem for line in sorted(lines) for problem in unpublished(line)] == []


@pytest.mark.parametrize("name", take.names())
def test_a_report_does_not_contradict_itself(judged: Judged, name: str) -> None:
    report = msgspec.convert(judged[name][0], Report, strict=False)
    assert not contradictions(report)
    rows = render_terminal(report, LAYERS, Look(width=80)).splitlines()
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


def test_facts_in_commands_are_quoted(judged: Judged) -> None:
    """A report or a recording may come from anybody: shell code in a fact never runs where a step is pasted."""
    done: set[Any] = set()
    found = []
    for name in sorted(judged):
        found += faults(msgspec.convert(judged[name][0], Report, strict=False), done)
    assert not found, "\n".join(found)
