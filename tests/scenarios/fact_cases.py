"""Machines by their facts: what differs from a healthy one, `facts.jsonl`; with `branches.py`, all kinds of steps.

Each is judged in this process, so hundreds of them cost seconds: every distribution, container, user and index that a
step's words depend on has one. What is said on each stands in `facts/LAYER.txt`, word by word, written by
`python -m tests.scenarios.fact_cases`: read the difference before you commit it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks import case_file
from doctor.findings import Policy
from doctor.judge.report import Report
from doctor.report.json import render_json
from doctor.snapshot import Snapshot

from ..healthy import healthy
from ..judging import POLICY, report
from . import fix_tables

FOLDER = Path(__file__).with_name("facts")


class Case(NamedTuple):
    """A machine and what is expected of it."""

    name: str
    snapshot: Snapshot
    policy: Policy

    def judged(self) -> Report:
        return report(self.snapshot, self.policy)


def cases() -> Iterator[Case]:
    """All of them, by their ids: the check that each was made for, and a number."""
    for name, row in case_file.read(FOLDER.with_suffix(".jsonl")).items():
        base = healthy(*row["gpus"], container=row.get("container", False))
        facts = changed(msgspec.to_builtins(base), row["facts"])
        policy = {**msgspec.to_builtins(POLICY), **row.get("policy", {})}
        yield Case(
            name,
            msgspec.convert(facts, Snapshot, strict=False),
            msgspec.convert(policy, Policy, strict=False),
        )


def changed(facts: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Facts with others at these paths; `{"-": [...], "+": [...]}` is what a list loses and gains."""
    for path, value in changes.items():
        *sections, name = path.split(".")
        place = facts
        for section in sections:
            place = place.setdefault(section, {})
        if isinstance(value, dict) and value and value.keys() <= {"-", "+"}:
            lost = value.get("-", [])
            value = [*(one for one in place[name] if one not in lost), *value.get("+", [])]
        place[name] = value
    return facts


def tables() -> fix_tables.Tables:
    """What is said on each case, as in `fix_tables`."""
    found: fix_tables.Tables = {}
    for case in cases():
        found |= fix_tables.tables_of(case.name, json.loads(render_json(case.judged())))
    return found


if __name__ == "__main__":
    fix_tables.write(tables(), FOLDER)
