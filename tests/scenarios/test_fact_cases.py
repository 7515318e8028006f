"""Machines by their facts: what is advised on each, word by word, and that together they take every branch of a fix."""

from __future__ import annotations

import json
import re
from pathlib import Path

from doctor.report.json import render_json

from ..rows import Faults
from . import fix_tables
from .branches import Branches
from .fact_cases import FOLDER, cases
from .steps import broken_rules
from .words import faults

OPEN = Path(__file__).with_name("branches_open.txt")


def test_what_is_said_on_each_machine_and_every_branch_of_a_fix() -> None:
    """Each case is judged once. `python -m tests.scenarios.fact_cases` writes what is said again.

    Add a machine to `facts.jsonl` for a branch that is missing; `branches_open.txt` has those that none takes yet.
    """
    branches, said = Branches(), fix_tables.read(FOLDER)
    written: dict[str, fix_tables.Tables] = {}
    for (layer, finding, machine), text in said.items():
        written.setdefault(machine, {})[layer, finding, machine] = text
    with Faults() as found:
        for case in cases():
            with branches.watched():
                judged = case.judged()
            with found.of(f"{case.name}: said as written"):
                told = fix_tables.tables_of(case.name, json.loads(render_json(judged)))
                assert written.pop(case.name, {}) == told
            with found.of(f"{case.name}: words and steps"):
                assert not faults(judged)
                assert not broken_rules(judged, last_screen=False)
                assert not [row for row in judged.checks if "itself failed" in row.reason]
        with found.of("machines that are gone"):
            assert list(written) == []
        with found.of("branches"):
            never = {name for name, times in branches.taken.items() if not times}
            listed = {line for line in OPEN.read_text("utf-8").splitlines() if line and not line.startswith("#")}
            assert sorted(never - listed) == [], "no machine of `facts.jsonl` takes these branches"
            assert sorted(listed - never) == [], "these are taken (or gone): delete them from branches_open.txt"
            assert all(re.match(r"\w+\.\w+: (?:if|not|and|or) ", name) for name in listed)
