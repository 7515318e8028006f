"""Another build of torch, by pip and by uv: installed, and with it what goes with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .environments import Patient
from .judging import Doctor
from .shelf import Shelf

New = Callable[..., Patient]
On = Callable[..., Doctor]
BOTH = ("pip", "uv")


def put(patient: Patient, shelf: Shelf, tag: str) -> Patient:
    """torch 2.9.1 of this tag with its companions, from PyTorch's index."""
    wanted = [f"{name}+{tag}" for name in ("torch==2.9.1", "torchvision==0.24.1", "torchaudio==2.9.1")]
    patient.put(*wanted, index=shelf.index(tag).url)
    return patient


def tags(patient: Patient) -> set[str]:
    """Local parts of the versions of torch and its companions; `default` for those of the default index."""
    have = patient.installed
    return {have[name].partition("+")[2] or "default" for name in ("torch", "torchvision", "torchaudio")}


@pytest.mark.parametrize("kind", [*BOTH, "uv-seeded"])
def test_cpu_build_to_cuda_build(patient: New, doctor: On, shelf: Shelf, kind: str) -> None:
    sick = put(patient(kind), shelf, "cpu")
    doctor().treat(sick, "cpu-only-torch")
    assert tags(sick) <= {"default", "cu128"} and sick.installed["torch"].startswith("2.9.1")
    assert "nvidia-cublas-cu12" in sick.installed


@pytest.mark.parametrize(("kind", "tool"), [("pip", "pip"), ("uv", "uv"), ("pip", "uv")])
def test_same_version_with_another_tag(patient: New, doctor: On, shelf: Shelf, kind: str, tool: str) -> None:
    """An RTX 5090 with a build for CUDA 12.6: to pip, 2.9.1+cu126 satisfies `torch==2.9.1`."""
    sick = put(patient(kind), shelf, "cu126")
    doctor("rtx5090").treat(sick, "torch-lacks-new-gpu-sm", tool=tool)
    assert tags(sick) <= {"default", "cu128"}
    assert sick.installed["nvidia-cuda-runtime-cu12"] == "12.8.90"


@pytest.mark.parametrize("kind", BOTH)
def test_a_build_that_the_driver_takes(patient: New, doctor: On, shelf: Shelf, kind: str) -> None:
    """Driver 550 and a build for CUDA 13: the wheels of the other major go with it or do no harm."""
    sick = put(patient(kind), shelf, "cu130")
    doctor(driver__version="550.54.15", cuda__version="12040").treat(sick, "driver-too-old-for-cuda-build")
    assert "cu130" not in tags(sick)


@pytest.mark.parametrize("kind", BOTH)
def test_companion_of_another_release(patient: New, doctor: On, kind: str) -> None:
    sick = patient(kind)
    sick.put("torch==2.9.1", "torchvision==0.24.1")
    sick.put("--no-deps", "torchvision==0.21.0")
    doctor().treat(sick, "torch-companion-mismatch")
    assert sick.installed["torchvision"] == "0.24.1" and sick.installed["torch"] == "2.9.1"


