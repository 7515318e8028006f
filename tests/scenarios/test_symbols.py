"""A driver library without one of its functions (an interposer, an emulator, an older one): nothing is called broken.

Only what starts a library and counts its devices is needed; where that is missing the check is unknown.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from doctor.commands.assess import assess
from doctor.probes.agents import driver_commands
from doctor.probes.collect import snapshot_of
from doctor.snapshot import Missing
from doctor.targets.agent import AgentResult
from doctor.targets.recording import Recording, read_recording
from tests.agents.run import run_agent
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)
from tests.judging import POLICY, matrix

from ..rows import Faults
from . import take
from .machine_files import without
from .torch_build import Workshop

SOURCES = {"libcuda.so.1": "libcuda.c", "libnvidia-ml.so.1": "libnvidia_ml.c"}
AGENTS = {"libcuda.so.1": "cuda_driver", "libnvidia-ml.so.1": "nvml"}
SAMPLE = (
    "cuInit",
    "cuDeviceCanAccessPeer",
    "cuDeviceGetUuid_v2",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetMemoryInfo_v2",
)
NEEDED = {"cuInit": "driver.cu_init", "cuDeviceGetCount": "driver.cuda_devices", "nvmlDeviceGetCount_v2": "gpus"}
"""What is not known without them."""
MACHINES = ("v100x8", "healthy-h100", "a100-mig")


def exported(library: Path) -> list[str]:
    """The functions that a fake library offers."""
    listed = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    return re.findall(r" T ((?:cu|nvml)\w+)", listed.stdout)


@pytest.mark.parametrize(
    "machine", ["v100x8", *(pytest.param(name, marks=pytest.mark.slow) for name in ("all v100x8", *MACHINES[1:]))]
)
def test_no_function_is_missed(machine: str, tmp_path: Path, fakes: Path) -> None:  # noqa: F811
    every, name = machine != "v100x8", machine.removeprefix("all ")
    folder = take.record(take.load(name), tmp_path / "m", fakes, Workshop(tmp_path / "w"))
    whole = read_recording(str(folder))
    lib = next((tmp_path / "m").glob("root/usr/lib/*/libcuda.so.1")).parent
    env = {"LD_LIBRARY_PATH": str(lib), "GPUDOCTOR_FAKE_SCENARIO": str(tmp_path / "m" / "root" / "scenario.txt")}
    before = _failed(whole, {})
    with Faults() as found:
        for soname, source in SOURCES.items():
            built = tmp_path / soname  # bound to itself: what it calls of its own stays there
            command = ["gcc", "-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic", f"-Wl,-soname,{soname}", "-o", str(built)]
            subprocess.run([*command, str(Path(take.MACHINES.parent) / "fakes" / source)], check=True)
            symbols = [one for one in exported(built) if every or one in SAMPLE]
            assert symbols
            (lib / soname).unlink()
            for symbol in symbols:
                without(built, symbol, lib / soname)
                answers = {AGENTS[soname]: run_agent(driver_commands()[AGENTS[soname]], take.DEADLINE_S, env)}
                with found.of(symbol):
                    assert _failed(whole, answers) - before == set()
                    if symbol in NEEDED:
                        assert isinstance(snapshot_of(_with(whole, answers)).fact(NEEDED[symbol]), Missing)
            shutil.copy(built, lib / soname)


def _failed(whole: Recording, answers: dict[str, AgentResult]) -> set[str]:
    report = assess(snapshot_of(_with(whole, answers)), matrix(), POLICY)
    return {finding.id for finding in report.findings if finding.status == "fail"}


def _with(whole: Recording, answers: dict[str, AgentResult]) -> Recording:
    return Recording(whole.files, {**whole.agents, **answers}, whole.manifest)
