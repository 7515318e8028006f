"""Torch builds with the headers of their real libraries, on the machines that were declared broken with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compat_matrix import Matrix
from tests.fakes import Machine
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)

from . import take
from .torch_build import BUILDS, Workshop

GH200 = {"gpu.0.name": "NVIDIA GH200 480GB", "gpu.0.pci.device": "2342", "gpu.0.pci.subsystem": "180910de",
         "gpu.0.memory.total": "97871", "gpu.0.power.limit_w": "900", "gpu.0.power.default_w": "900",
         "gpu.0.power.max_w": "900"}  # fmt: skip
ARM = {"/lib/ld-linux-aarch64.so.1": ""}
PCI = "/sys/bus/pci/devices/0000:01:00.0/"
GH200_FILES = {PCI + "device": "0x2342\n", PCI + "subsystem_device": "0x1809\n"}
WHEELS = {"2.5.1+cu124": "torch-2.5.1-x86_64", "2.6.0+cu124": "torch-2.6.0-x86_64"}


@pytest.mark.parametrize(
    "boards",
    [("gh200",), pytest.param(("healthy-h100", "h200x8"), marks=pytest.mark.slow)],
)
def test_hopper_is_healthy_with_torch_of_cuda_12_4(
    boards: tuple[str, ...],
    tmp_path: Path,
    fakes: Path,  # noqa: F811
) -> None:
    """36 of the 341 containers of libtorch_cuda.so hold nothing: by sizes 9.0 was missing from them, the rest not."""
    workshop = Workshop(tmp_path / "workshop")
    faults = []
    for board in boards:
        for build, wheel in WHEELS.items():
            scenario = replace(take.load("healthy-h100" if board == "gh200" else board), name=board, torch=build)
            scenario = replace(scenario, build={"skeleton": wheel})
            if board == "gh200":
                machine = Machine("gh200", {**scenario.machine.scenario, **GH200}, scenario.machine.files)
                scenario = replace(scenario, machine=machine, files={**ARM, **GH200_FILES})
            recording = take.record(scenario, tmp_path / f"{board}-{build}", fakes, workshop)
            report, code, stderr = take.check(recording)
            sass = (report or {"snapshot": {"torch": {"sass": stderr}}})["snapshot"]["torch"]["sass"]
            told = [finding["id"] for finding in report.get("findings", ())]
            if code or told or sass != ["5.0", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0"]:
                faults.append(f"{board} with {build}: exit {code}, {told}, {sass}")
    assert not faults, "\n".join(faults)


def test_the_builds_of_the_scenarios_have_the_commit_of_their_release() -> None:
    """torch_releases.json has what version.py of the published wheel says: all builds of a release come of one commit."""
    releases = {row.torch: row.git_commit for row in Matrix.load().releases}
    wrong = {
        name: build["git"]
        for name, build in BUILDS.items()
        if build["git"] != releases[name.split("+")[0].split("-")[0]]
    }
    assert wrong == {}
