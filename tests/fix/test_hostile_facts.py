"""Shell code in facts of pasted texts never runs where a step is pasted; the machines' are in tests/scenarios."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from doctor.judge import judge
from doctor.text import read

from ..judging import POLICY, matrix
from .hostile import faults

CASES = Path(__file__).parents[2] / "benchmarks" / "cases"


def render(case: dict[str, Any]) -> bytes:
    """The case as text, by the folder's own script."""
    spec = importlib.util.spec_from_file_location("render_cases", CASES / "render.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.render(case)).encode()


@pytest.mark.slow
def test_facts_in_commands_are_quoted() -> None:
    done: set[Any] = set()
    found = []
    for path in sorted(CASES.glob("*.json"))[::3]:
        report = judge(read(render(json.loads(path.read_text("utf-8"))), "-"), matrix(), POLICY)
        found += faults(report, done)
    assert not found, "\n".join(found)
