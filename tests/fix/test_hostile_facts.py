"""Shell code in facts of pasted texts never runs where a step is pasted; the machines' are in tests/scenarios."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.cases import load_cases, renderer
from doctor.judge import judge
from doctor.text import read

from ..judging import POLICY, matrix
from .hostile import faults


@pytest.mark.slow
def test_facts_in_commands_are_quoted() -> None:
    done: set[Any] = set()
    found = []
    render = renderer()
    for case in load_cases()[::3]:
        report = judge(read(render(case).encode(), "-"), matrix(), POLICY)
        found += faults(report, done)
    assert not found, "\n".join(found)
