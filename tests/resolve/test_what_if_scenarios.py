"""`what-if --driver` on every machine of tests/machines: as the same machine says that really answers with that driver."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from doctor.probes.collect import snapshot_of
from doctor.snapshot import Snapshot
from doctor.targets.recording import read_recording
from tests.fakes import MACHINES, Machine
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)

from ..judging import matrix, report
from ..rows import Faults
from ..scenarios import take
from ..scenarios.torch_build import Workshop
from .test_what_if import agree, found, what_if

THEN, ON_WINDOWS = "590.44.01", "581.29"
REPAIRED = {"mismatch": "driver-library-version-mismatch", "not-loaded": "driver-not-loaded"}
"""What a driver that is installed whole, and loaded, no longer has."""
NAMES = sorted(path.parent.name for path in MACHINES.glob("*/expected.json"))


@pytest.mark.slow
def test_every_machine(tmp_path: Path, fakes: Path) -> None:  # noqa: F811
    workshop = Workshop(tmp_path / "workshop")

    def seen(name: str, driver: str) -> Snapshot:
        scenario = take.load(name)
        if driver:
            row = matrix().driver_branch(driver, "windows" if driver == ON_WINDOWS else "linux").row
            assert row is not None
            major, minor = row.cuda.split(".")
            cuda = str(int(major) * 1000 + int(minor) * 10)
            other = {"driver.version": driver, "cuda.version": cuda}
            other |= {key: driver for key in ("nvml.library", "cuda.library") if key in scenario.machine.scenario}
            scenario.files = {**take._other_driver(scenario.machine, driver), **scenario.files}
            scenario.machine = Machine(name, {**scenario.machine.scenario, **other}, scenario.machine.files)
        folder = tmp_path / f"{name}-{driver}"
        return snapshot_of(read_recording(str(take.record(scenario, folder, fakes, workshop))))

    new = {name: ON_WINDOWS if name.startswith("wsl") else THEN for name in NAMES}
    with ThreadPoolExecutor(4) as pool:
        now = dict(zip(NAMES, pool.map(lambda name: seen(name, ""), NAMES), strict=True))
        then = dict(zip(NAMES, pool.map(lambda name: seen(name, new[name]), NAMES), strict=True))
    with Faults() as faults:
        for name in NAMES:
            with faults.of(name):
                asked = what_if(now[name], driver=new[name])
                if name in REPAIRED:
                    assert REPAIRED[name] in found(report(then[name])) - found(report(asked))
                else:
                    agree(asked, then[name])
