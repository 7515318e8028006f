"""Facts that somebody else wrote, with shell code in them: whether a command that holds them would run it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec

from doctor.findings import Finding, Fix
from doctor.judge import judge
from doctor.judge.report import Report
from doctor.snapshot import Snapshot

from ..judging import matrix

MARK = "PWNED"
PAYLOADS = (
    f"`echo {MARK}`",
    f"$(echo {MARK})",
    f"'; echo {MARK} #",
    f'"; echo {MARK} #',
    f"\necho {MARK}\n",
    f" --{MARK}",
)
_RAN = re.compile(rf"^\++ echo {MARK}", re.M)
_LEAST = 3


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every string in a tree of builtins, with the way to it."""
    if isinstance(value, str):
        if len(value) >= _LEAST:
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*path, number))


def commands(report: Report) -> list[str]:
    """All commands of a report's fixes that a POSIX shell would get."""
    return [command for finding in _findings(report) for fix in finding.fixes for command in _of(fix)]


def _findings(report: Report) -> tuple[Finding, ...]:
    return (*report.findings, *report.remarks)


def _of(fix: Fix) -> list[str]:
    steps = [step for step in fix.steps if step.where != "windows"]
    found = [command for step in steps for command in (step.command, *(other.command for other in step.alternatives))]
    return [command for command in found if command]


def faults(report: Report, done: set[Any]) -> list[str]:
    """What would run, or is no shell, where one fact after the other that a command shows is hostile.

    `done`: facts and commands that were tried before, in any report.
    """
    said = {fix.id: "\n".join(_of(fix)) for finding in _findings(report) for fix in finding.fixes}
    tree = msgspec.to_builtins(report.snapshot)
    found = []
    for path, value in leaves(tree):
        general = tuple(part for part in path if not isinstance(part, int))
        shown = {(general, name) for name, lines in said.items() if value in lines} - done
        if not shown:
            continue
        done |= shown
        for payload in PAYLOADS:
            changed = _changed(report, tree, path, value + payload)
            for command in commands(changed) if changed else ():
                if MARK in command and command not in done:
                    done.add(command)
                    found += [f"{'.'.join(map(str, path))}: {why}: {command!r}" for why in _wrong(command)]
    return found


def _changed(report: Report, tree: Any, path: tuple[Any, ...], value: str) -> Report | None:
    copy = msgspec.json.decode(msgspec.json.encode(tree))
    place = copy
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    try:
        snapshot = msgspec.convert(copy, Snapshot, strict=False)
    except msgspec.ValidationError:  # one of a few words only
        return None
    return judge(snapshot, matrix(), report.policy)


def _wrong(command: str) -> Iterator[str]:
    """Run where nothing can be: a restricted shell without programs, that prints what it carries out."""
    syntax = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)
    if syntax.returncode:
        yield f"no shell ({syntax.stderr.strip()[-80:]})"
        return
    run = subprocess.run(
        ["/bin/bash", "--restricted", "-x", "-c", command.replace("&&", ";")],  # what fails must not end it
        env={"PATH": "/nonexistent", "PS4": "+ "},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    if _RAN.search(run.stderr):
        yield "runs it"
