"""Every fault of nvml_fields.csv on a machine of eight GPUs, judged by the real command: found on its GPU, and no other."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Machine
from tests.fakes.fixtures import fakes, on_machine  # noqa: F401 (fixtures)

from ..machines.fields import Field, fields
from ..rows import share
from . import take
from .machine_files import Scenario
from .torch_build import Workshop

GPUS = 8


def sick_machines() -> list[tuple[str, list[Field]]]:
    """Machines with up to eight faults, one on each GPU; the faults of one check are on different GPUs anyway."""
    by_machine: dict[str, list[Field]] = {}
    for row in fields():
        if row.scenario:
            by_machine.setdefault(row.machine, []).append(row)
    return [(name, rows[at : at + GPUS]) for name, rows in by_machine.items() for at in range(0, len(rows), GPUS)]


def made_sick(name: str, rows: list[Field]) -> Machine:
    """The machine with the fault of row N on GPU N; `name` may tell another driver."""
    word, _, driver = name.partition(" ")
    machine = Machine.load(word)
    changes = {key: value for gpu, row in enumerate(rows) for key, value in row.on_gpu(gpu).items()}
    machine.scenario.update({"driver.version": driver or machine.scenario["driver.version"], **changes})
    return machine


def found_by_gpu(report: dict[str, Any]) -> list[set[str]]:
    """`id:status` of the findings and remarks about each GPU."""
    keys = [gpu["key"] for gpu in report["snapshot"]["gpus"]]
    found: list[set[str]] = [set() for _ in keys]
    for finding in report["findings"] + report["remarks"]:
        about = {finding["subject"], *map(str, finding["facts"].get("indices", ())), *_links(finding)}
        for gpu, key in enumerate(keys):
            if key in about or str(gpu) in about:
                found[gpu].add(f"{finding['id']}:{finding['status']}")
    return found


def _links(finding: dict[str, object]) -> set[str]:
    facts = finding["facts"]
    links = facts.get("links", ()) if isinstance(facts, dict) and finding["status"] == "pass" else ()
    return {str(pair[0]) for pair in links}


PARTS = 6


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_every_fault_is_found_on_its_gpu_alone(part: int, fakes: Path, tmp_path: Path) -> None:  # noqa: F811
    machines = share(sick_machines(), part, PARTS)

    def judged(number: int) -> list[set[str]]:
        folder = tmp_path / f"m{number}"
        scenario = Scenario(folder.name, made_sick(*machines[number]), expected={})
        report, _, stderr = take.check(take.record(scenario, folder, fakes, Workshop(folder / "workshop")))
        assert report, stderr
        return found_by_gpu(report)

    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(judged, range(len(machines))))
    wrong = [
        f"{name}, {row.field} ({row.sick}): {row.scenario}: expected '{row.finds}', found {sorted(found[gpu])}"
        for (name, rows), found in zip(machines, told, strict=True)
        for gpu, row in enumerate(rows)
        if found[gpu] != set(row.finds.split())
    ]
    assert not wrong, "\n".join(wrong)


def test_the_command_finds_them_while_the_driver_is_there(on_machine: Callable[..., dict[str, str]]) -> None:  # noqa: F811
    """Without a recording: one kind of each fault that is read in a new way, on eight GPUs at once."""
    kinds = {(row.finds, row.field): row for row in fields() if row.machine == "b200x8"}
    rows = list(kinds.values())[:GPUS]
    env = on_machine(made_sick("b200x8", rows))
    command = [sys.executable, "-m", "doctor", "check", "--no-import", "--format", "json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, done.stderr
    found = found_by_gpu(json.loads(done.stdout))
    assert len(rows) >= 6 and [sorted(each) for each in found[: len(rows)]] == [row.finds.split() for row in rows]
    assert not any(found[len(rows) :])
