"""The real `gpudoctor check` on an environment, its first fix carried out as pasted, and what the fix promised held
against what is there afterwards."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.command import COMMAND

from .environments import Patient
from .shelf import Shelf

Json = dict[str, Any]
FLAGS = ("--format", "json", "--no-redact", "--no-config")


class Doctor:
    """gpudoctor on a machine (its driver's variables) with the indexes of a shelf."""

    def __init__(self, driver: dict[str, str], shelf: Shelf) -> None:
        self.driver = driver
        self.shelf = shelf

    def run(self, patient: Patient, command: str, *flags: str) -> subprocess.CompletedProcess[str]:
        """A command of gpudoctor on this patient."""
        variables = ("LD_LIBRARY_PATH", "GPUDOCTOR_FAKE_SCENARIO")
        env = {**patient.room.env, **{k: v for k, v in self.driver.items() if k in variables}}
        argv = [str(COMMAND), command, "--python", str(patient.python), *flags]
        return subprocess.run(
            argv, capture_output=True, text=True, env=env, timeout=120, check=False, cwd=patient.room.folder
        )

    def check(self, patient: Patient, *flags: str) -> Json:
        """The report as JSON."""
        done = self.run(patient, "check", *FLAGS, *flags)
        assert done.stdout, done.stderr
        report: Json = json.loads(done.stdout)
        return report

    def treat(self, patient: Patient, check_id: str, *flags: str, tool: str = "") -> list[str]:
        """Find, carry out the first fix, look again: the finding is gone and the promises hold. Returns the commands.

        `tool`: carry out the line of that tool where the step has one beside its own.
        """
        before = self.check(patient, *flags)
        finding = found(before, check_id)
        assert finding, f"{check_id} was not found, but {[(f['id'], f['title']) for f in before['findings']]}"
        fix = finding["fixes"][0]
        commands = [line for step in fix["steps"] if (line := _line(step, tool))]
        assert commands, fix
        promised: Json = {}
        for step in fix["steps"]:
            promised.update(step["changes"])
            if line := _line(step, tool):
                patient.room.run(self.shelf.translate(line))
        if new := promised.get("python.patient.prefix"):
            patient.prefix = Path(new.replace("~", str(patient.room.folder), 1))
        after = self.check(patient, *flags)
        left = found(after, check_id)
        assert not left, f"{check_id} is still there: {left['title']}: {left['detail']}\nafter {commands}"
        assert_promises(promised, after, patient, " ".join(commands))
        return commands

    def cure(self, patient: Patient) -> list[str]:
        """Carry out the first fix of the root cause, as long as something fails. Returns the commands."""
        commands: list[str] = []
        failed: list[Json] = []
        for _ in range(3):
            failed = [f for f in self.check(patient)["findings"] if f["status"] == "fail" and not f["cause"]]
            if not failed:
                return commands
            for step in failed[0]["fixes"][0]["steps"]:
                if step["command"]:
                    commands.append(step["command"])
                    patient.room.run(self.shelf.translate(step["command"]))
        raise AssertionError(f"still failing after {commands}: {[(f['id'], f['title']) for f in failed]}")


def _line(step: Json, tool: str) -> str:
    other = [way["command"] for way in step.get("alternatives", ()) if way["tool"] == tool]
    line: str = other[0] if other else step["command"]
    return line


def found(report: Json, check_id: str) -> Json | None:
    """The first finding of a check, None where it found nothing."""
    return next((f for f in report["findings"] if f["id"] == check_id), None)


def assert_promises(promised: Json, report: Json, patient: Patient, commands: str) -> None:
    """Every fact that the steps said they change, and whose new value they knew, is now so."""
    have = patient.installed
    for path, value in promised.items():
        if isinstance(value, dict) and "missing" in value:
            continue
        if path == "python.distributions":
            for d in value:
                assert d["name"] in have, f"{d['name']}: {have}"
                if f"{d['name']}=={d['version']}" in commands.split():
                    assert _base(have[d["name"]]) == _base(d["version"]), f"{d['name']} {d['version']}: {have}"
            continue
        if path.startswith(_COMPARED):
            now = fact(report["snapshot"], path)
            assert now == value, f"{path}: promised {value}, is {now}"


_COMPARED = (
    "torch.version",
    "torch.build",
    "torch.cuda",
    "torch.sass",
    "torch.missing",
    "python.patient.torch_version",
)


def _base(version: str) -> str:
    return version.partition("+")[0]


def fact(snapshot: Json, path: str) -> Any:
    """A fact of a report's Snapshot by its dotted path."""
    value: Any = snapshot
    for name in path.split("."):
        value = value[name]
    return value
