"""Machines by their facts: what is advised on each, word by word, and that together they take every branch of a fix."""

from __future__ import annotations

import re
from pathlib import Path

from ..rows import Faults
from . import fix_tables
from .branches import Branches
from .fact_cases import FOLDER, cases, tables
from .steps import broken_rules
from .words import faults

OPEN = Path(__file__).with_name("branches_open.txt")


def test_said_as_written() -> None:
    """Each case's findings with all that is advised: `python -m tests.scenarios.fact_cases` writes them again."""
    written, told = fix_tables.read(FOLDER), tables()
    assert {key[1:]: text for key, text in written.items()} == {key[1:]: text for key, text in told.items()}


def test_words_and_steps_keep_their_rules() -> None:
    with Faults() as found:
        for case in cases():
            with found.of(case.name):
                judged = case.judged()
                assert not faults(judged)
                assert not broken_rules(judged, last_screen=False)
                assert not [row for row in judged.checks if "itself failed" in row.reason]


def test_every_branch_of_a_fix_occurs_on_some_machine() -> None:
    """Add a machine to `facts/` for a branch that is missing; `branches_open.txt` has those that none takes yet."""
    branches = Branches()
    with branches.watched():
        for case in cases():
            case.judged()
    never = {name for name, times in branches.taken.items() if not times}
    listed = {line for line in OPEN.read_text("utf-8").splitlines() if line and not line.startswith("#")}
    assert sorted(never - listed) == [], "no machine of `facts/` takes these branches"
    assert sorted(listed - never) == [], "these are taken (or gone): delete them from branches_open.txt"
    assert all(re.match(r"\w+\.\w+: (?:if|not|and|or) ", name) for name in listed)
