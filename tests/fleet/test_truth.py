"""The report of a fleet names each planted fault and nothing else; of a healthy one, nothing at all."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fleet import plan, run
from benchmarks.fleet_check import compare

from ..rows import Faults, for_each
from . import fleets
from .test_report_command import Fleet, fleet  # noqa: F401 (a fixture)


def test_each_planted_fault_of_64_nodes_is_named_and_nothing_else(fleet: Fleet) -> None:  # noqa: F811
    found, code = fleets.report(fleet.database)
    assert not compare(fleet.truth, found, code)


def test_of_a_healthy_fleet_nothing(tmp_path: Path) -> None:
    made = plan(48, 3, healthy=True)
    found, code = fleets.report(fleets.loaded(made, tmp_path))
    empty = ("repairs", "findings", "python", "odd", "clocks", "splits", "slow", "once", "lagging", "refused", "nodes")
    assert code == 0 and found["verdict"] == "pass"
    assert not [name for name in empty if found[name]]
    assert found["healthy"] == list(made.names)


PARTS = ("repairs", "odd", "clocks", "slow", "splits", "duplicates", "refused", "nodes", "healthy")


def test_the_comparison_sees_what_is_missing_and_what_is_too_much(fleet: Fleet) -> None:  # noqa: F811
    found, code = fleets.report(fleet.database)
    with Faults() as faults:
        for name in PARTS:
            less: dict[str, Any] = copy.deepcopy(found)
            dropped = less[name].pop()
            more: dict[str, Any] = copy.deepcopy(found)
            other = dropped if not isinstance(dropped, dict) else {**dropped, "node": "x", "nodes": ["x"], "file": "x"}
            more[name].append("x" if isinstance(dropped, str) else other)
            with faults.of(name):
                assert compare(fleet.truth, less, code), "missing"
                assert compare(fleet.truth, more, code), "too much"
        with faults.of("exit code"):
            assert compare(fleet.truth, found, 0)


@pytest.mark.slow
@for_each("seed", [2, 3])
def test_each_planted_fault_of_1000_nodes(seed: int) -> None:
    assert not run(1000, seed, False, fleets.machines())


@pytest.mark.slow
@for_each("seed", [4, 5, 6])
def test_each_planted_fault_of_other_fleets_of_64(seed: int) -> None:
    assert not run(64, seed, False, fleets.machines())


def test_the_truth_of_a_seed_is_the_same_each_time() -> None:
    assert json.dumps(plan(1000, 7, False)) == json.dumps(plan(1000, 7, False)) != json.dumps(plan(1000, 8, False))
