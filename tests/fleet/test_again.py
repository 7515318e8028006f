"""A report that went through the database is judged as `check --from` judges its file: the same facts and policy."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import json
from msgspec.structs import replace

from doctor.fleet.store.query import saved_of
from doctor.judge.saved import parse_report
from doctor.report.json import render_json
from doctor.snapshot.redact import redact
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)

from ..judging import report
from ..rows import Faults
from ..scenarios import fact_cases, take
from ..scenarios.test_scenarios import judge_all
from .spool import load


def same_again(spool: Path, database: Path) -> None:
    load(spool, to=database)
    with Faults() as faults:
        for path in sorted(spool.iterdir()):
            with faults.of(path.stem):
                (found,) = saved_of(str(database), path.stem)
                assert found == parse_report(path.read_bytes(), path.stem)


@pytest.mark.parametrize("of", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_machines_by_their_facts(tmp_path: Path, of: int) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    of_machines = [case for case in fact_cases.cases() if case.snapshot.target.kind != "text"]
    for case in of_machines[::of]:
        found = replace(redact(report(case.snapshot, case.policy)), redacted=True)
        (spool / f"{case.name}.json").write_bytes(render_json(found))
    same_again(spool, tmp_path / "now.db")


@pytest.mark.slow
def test_scenario_machines(tmp_path: Path, fakes: Path) -> None:  # noqa: F811
    spool = tmp_path / "spool"
    spool.mkdir()
    for name, (found, _, _) in judge_all(take.names(), tmp_path / "made", fakes).items():
        (spool / f"{name}.json").write_bytes(json.encode(found))
    same_again(spool, tmp_path / "now.db")
