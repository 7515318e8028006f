"""The public cases of `benchmarks/cases`: no cause is called certain that is not theirs, and sound ones do not fail."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from doctor.findings import Finding
from doctor.judge import check_ids
from doctor.judge.report import Report
from doctor.text import read

from ..install_lines import of_fixes, unpublished
from ..judging import POLICY, report
from ..soundness.sensible import wrong_with

FOLDER = Path(__file__).parents[2] / "benchmarks" / "cases"
CASES = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}


@cache
def renderer() -> Any:
    spec = importlib.util.spec_from_file_location("render_cases", FOLDER / "render.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.render


@cache
def told(name: str) -> Report:
    return report(read(renderer()(CASES[name])))


def findings(name: str) -> tuple[Finding, ...]:
    return told(name).findings


def right(name: str) -> tuple[str, ...]:
    return (CASES[name]["root_cause"]["slug"], *CASES[name]["also"])


def certain(name: str) -> str:
    """Id of the first finding where it is a failure."""
    first = findings(name)[0] if findings(name) else None
    return first.id if first is not None and first.status == "fail" else ""


@pytest.mark.parametrize("name", CASES)
def test_what_is_certain_is_right(name: str) -> None:
    case = CASES[name]
    assert case["id"] == name and case["source"].startswith("https://")
    if case["healthy"]:
        assert [f.id for f in findings(name) if f.status == "fail"] == []
    else:
        assert set(right(name)) <= {*check_ids(), "healthy"}
        assert certain(name) in ("", *right(name))


@pytest.mark.parametrize(("excerpt", "most", "share"), [(False, 300, 0.95), (True, 100, 0.8)])
def test_nearly_all_that_can_be_decided_are(excerpt: bool, most: int, share: float) -> None:
    """Of threads that were read whole, and of excerpts, which tell less."""
    cases = [name for name, case in CASES.items() if case.get("excerpt", False) is excerpt]
    decidable = [name for name in cases if CASES[name]["decidable"] == "yes" and not CASES[name]["healthy"]]
    named = [name for name in decidable if certain(name) or findings(name)[0].status == "warn"]
    assert len(decidable) > most and len(named) > share * len(decidable), sorted(set(decidable) - set(named))


def test_install_lines_name_what_is_published() -> None:
    """Over all cases: torch, its companions and their indexes as the matrix has them."""
    lines = {line for name in CASES for finding in findings(name) for line in of_fixes(finding.fixes)}
    assert sum("torch==" in line for line in lines) > 20
    assert [problem for line in sorted(lines) for problem in unpublished(line)] == []


def test_no_fix_is_pointless() -> None:
    """No install of what the text says is there, no driver or libcuda that cannot serve its GPU."""
    wrong = [
        f"{name}: {why}" for name in CASES for f in findings(name) for why in wrong_with(told(name).snapshot, f, POLICY)
    ]
    assert not wrong, "\n".join(wrong)
