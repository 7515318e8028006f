"""Every fault of nvml_fields.csv on a machine of eight GPUs, judged by the real command: found on its GPU, and no other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fakes import Machine
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)

from ..machines.fields import Field, fields
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


def found_by_gpu(folder: Path, name: str, rows: list[Field], fakes: Path) -> list[set[str]]:  # noqa: F811
    """`id:status` of the findings and remarks about each GPU."""
    word, _, driver = name.partition(" ")
    machine = Machine.load(word)
    changes = {key: value for gpu, row in enumerate(rows) for key, value in row.on_gpu(gpu).items()}
    machine.scenario.update({"driver.version": driver or machine.scenario["driver.version"], **changes})
    scenario = Scenario(folder.name, machine, expected={}, check=["--expect", "8"])
    recording = take.record(scenario, folder, fakes, Workshop(folder / "workshop"))
    report, _, stderr = take.check(recording)
    assert report, stderr
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


def test_every_fault_is_found_on_its_gpu_alone(fakes: Path, tmp_path: Path) -> None:  # noqa: F811
    machines = sick_machines()

    def judged(number: int) -> list[set[str]]:
        return found_by_gpu(tmp_path / f"m{number}", *machines[number], fakes)

    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(judged, range(len(machines))))
    wrong = [
        f"{name}, {row.field} ({row.sick}): {row.scenario}: expected '{row.finds}', found {sorted(found[gpu])}"
        for (name, rows), found in zip(machines, told, strict=True)
        for gpu, row in enumerate(rows)
        if found[gpu] != set(row.finds.split())
    ]
    assert not wrong, "\n".join(wrong)
