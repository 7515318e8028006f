"""Another build of torch, by pip and by uv: installed, and with it what goes with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .environments import Patient
from .judging import Doctor
from .shelf import Shelf

New = Callable[..., Patient]
On = Callable[..., Doctor]
SLOW = pytest.param("pip", marks=pytest.mark.slow)
AGAIN = pytest.param("pip", marks=pytest.mark.every_install)
"""pip takes the same path here as in a test that runs always."""


def put(patient: Patient, shelf: Shelf, tag: str) -> Patient:
    """torch 2.9.1 of this tag with its companions, from PyTorch's index."""
    wanted = [f"{name}+{tag}" for name in ("torch==2.9.1", "torchvision==0.24.1", "torchaudio==2.9.1")]
    patient.put(*wanted, index=shelf.index(tag).url)
    return patient


def tags(patient: Patient) -> set[str]:
    """Local parts of the versions of torch and its companions; `default` for those of the default index."""
    have = patient.installed
    return {have[name].partition("+")[2] or "default" for name in ("torch", "torchvision", "torchaudio")}


@pytest.mark.parametrize("kind", [SLOW, "uv", pytest.param("uv-seeded", marks=pytest.mark.every_install)])
def test_cpu_build_to_cuda_build(patient: New, doctor: On, shelf: Shelf, kind: str) -> None:
    """The release stays; of its builds the newest that driver 580 has the CUDA of."""
    sick = put(patient(kind), shelf, "cpu")
    doctor().treat(sick, "cpu-only-torch")
    assert tags(sick) == {"cu130"} and sick.installed["torch"] == "2.9.1+cu130"
    assert sick.installed["nvidia-cublas"].startswith("13.0.")


@pytest.mark.parametrize(
    ("kind", "tool"),
    [
        pytest.param("pip", "pip", marks=pytest.mark.slow),
        ("uv", "uv"),
        pytest.param("pip", "uv", marks=pytest.mark.slow),
    ],
)
def test_same_version_with_another_tag(patient: New, doctor: On, shelf: Shelf, kind: str, tool: str) -> None:
    """An RTX 5090 with a build for CUDA 12.6: to pip, 2.9.1+cu126 satisfies `torch==2.9.1`."""
    sick = put(patient(kind), shelf, "cu126")
    doctor("rtx5090").treat(sick, "torch-lacks-new-gpu-sm", tool=tool)
    assert tags(sick) == {"cu128"} and sick.installed["torch"] == "2.9.1+cu128"
    assert sick.installed["nvidia-cuda-runtime-cu12"] == "12.8.90"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AGAIN, "uv"])
def test_a_build_that_the_driver_takes(patient: New, doctor: On, shelf: Shelf, kind: str) -> None:
    """Driver 550 and a build for CUDA 13: the wheels of the other major go with it or do no harm."""
    sick = put(patient(kind), shelf, "cu130")
    doctor(driver__version="550.54.15", cuda__version="12040").treat(sick, "driver-too-old-for-cuda-build")
    assert "cu130" not in tags(sick)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AGAIN, "uv"])
def test_from_an_index_of_pytorch(patient: New, doctor: On, shelf: Shelf, kind: str) -> None:
    """2.11 for CUDA 13, on a driver that takes 12.8 at most: its build is not on the default index."""
    sick = patient(kind)
    sick.put("torch==2.11.0", "torchvision==0.26.0")
    commands = doctor("rtx5090").treat(sick, "driver-too-old-for-cuda-build")
    assert any("download.pytorch.org" in line for line in commands)
    assert sick.installed["torch"].partition("+")[2] in ("cu126", "cu128", "cu129")


@pytest.mark.parametrize("kind", [AGAIN, "uv"])
def test_no_torch(patient: New, doctor: On, kind: str) -> None:
    """An empty environment: uv's has no pip, and no list of packages that could say so."""
    sick = patient(kind)
    commands = doctor("rtx5090").treat(sick, "torch-not-installed")
    assert commands[0].startswith("uv pip") == (kind == "uv")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AGAIN, "uv"])
def test_companion_of_another_release(patient: New, doctor: On, kind: str) -> None:
    sick = patient(kind)
    sick.put("torch==2.9.1", "torchvision==0.24.1")
    sick.put("--no-deps", "torchvision==0.21.0")
    doctor().treat(sick, "torch-companion-mismatch")
    assert sick.installed["torchvision"] == "0.24.1" and sick.installed["torch"] == "2.9.1"


@pytest.mark.slow
def test_companion_of_another_build(patient: New, doctor: On, shelf: Shelf) -> None:
    """torch for CUDA 12.6 with the torchvision of the default index: the same version, another build."""
    sick = patient("uv")
    sick.put("torch==2.9.1+cu126", index=shelf.index("cu126").url)
    sick.put("--no-deps", "torchvision==0.24.1+cpu", index=shelf.index("cpu").url)
    doctor().treat(sick, "torch-companion-mismatch")
    assert sick.installed["torchvision"] == "0.24.1+cu126" and sick.installed["torch"] == "2.9.1+cu126"
