"""NVIDIA's real libraries of driver 535 on a machine without the hardware and without the kernel module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..reaction import unhurried
from . import apt

pytestmark = pytest.mark.network

RTX_4090 = {
    "vendor": "0x10de", "device": "0x2684", "subsystem_vendor": "0x1043", "subsystem_device": "0x889a",
    "class": "0x030000",
}  # fmt: skip
"""The files of one PCI device, as sysfs shows them."""


@pytest.fixture(scope="session")
def libraries() -> Path:
    return apt.libraries()


def _run(tmp_path: Path, libraries: Path, command: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a mount namespace of its own, where the loader finds the libraries."""
    dev = tmp_path / "dev"
    dev.mkdir(exist_ok=True)
    script = str(Path(__file__).with_name("namespace.sh"))
    env = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", script, str(dev), *options, *command],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _check(tmp_path: Path, libraries: Path, *options: str, times: int = 1) -> dict[str, Any]:
    """The JSON report of the last of so many runs in one namespace."""
    out = tmp_path / "report.json"
    check = f'"{sys.executable}" -m doctor check --no-import --format json -o "{out}"'
    done = _run(tmp_path, libraries, ["sh", "-c", "; ".join([check] * times) + "; ls /dev"], *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(out.read_text())
    assert isinstance(report, dict)
    report["dev"] = done.stdout.split()
    return report


def _recorded_gpu(tmp_path: Path) -> str:
    """A list of PCI devices with one more: the RTX 4090."""
    folder = tmp_path / "pci"
    card = folder / "0000:65:00.0"
    card.mkdir(parents=True)
    for name, value in RTX_4090.items():
        (card / name).write_text(value + "\n")
    return str(folder)


def test_the_libraries_answer_as_without_a_kernel_module(tmp_path: Path, libraries: Path) -> None:
    """What the tests below stand on: NVML says 9 (driver not loaded), and creates /dev/nvidiactl while asked."""
    ask = (
        "import ctypes, os; nvml = ctypes.CDLL('libnvidia-ml.so.1'); cuda = ctypes.CDLL('libcuda.so.1'); "
        "print(os.path.exists('/dev/nvidiactl'), nvml.nvmlInit_v2(), os.path.exists('/dev/nvidiactl'), cuda.cuInit(0))"
    )
    done = _run(tmp_path, libraries, [sys.executable, "-c", ask])
    assert done.stdout.split() == ["False", "9", "True", "100"], done.stderr


@pytest.mark.parametrize("times", [1, 2], ids=["fresh", "after a first look left /dev/nvidiactl"])
def test_no_card_is_the_cause_and_not_loaded_its_consequence(tmp_path: Path, libraries: Path, times: int) -> None:
    report = _check(tmp_path, libraries, times=times)
    found = {finding["id"]: finding for finding in report["findings"]}
    assert report["findings"][0]["id"] == "no-nvidia-gpu"
    assert found["driver-not-loaded"]["downstream_of"] == ["no-nvidia-gpu"]
    assert all(finding["downstream_of"] for finding in report["findings"][1:])
    assert "nvidiactl" in report["dev"]  # the libraries were really asked
    assert report["exit_code"] == 1


def test_with_a_recorded_card_the_driver_is_not_loaded(tmp_path: Path, libraries: Path) -> None:
    report = _check(tmp_path, libraries, "--pci", _recorded_gpu(tmp_path))
    assert report["findings"][0]["id"] == "driver-not-loaded"
    assert "no-nvidia-gpu" not in {finding["id"] for finding in report["findings"]}
    driver = report["snapshot"]["driver"]
    assert driver["nvml_init"] == 9 and driver["cu_init"] == 100
    assert driver["nvml_library_version"] == driver["libcuda_version"] and driver["libcuda_version"].startswith("535.")


def test_nvidia_smi_fails_and_gpudoctor_says_why(tmp_path: Path, libraries: Path) -> None:
    """The situation of the user: the tool says 'has failed because it couldn't communicate', gpudoctor the cause."""
    smi = shutil.copy(apt.nvidia_smi(), tmp_path / "nvidia-smi")
    pci = _recorded_gpu(tmp_path)
    failed = _run(tmp_path, libraries, [str(smi)], "--pci", pci)
    assert failed.returncode == 9 and "couldn't communicate with the NVIDIA driver" in failed.stdout
    health = _run(tmp_path, libraries, unhurried([sys.executable, "-m", "doctor", "healthcheck"]), "--pci", pci)
    assert health.returncode == 1 and health.stdout.startswith("FAIL driver-not-loaded")
