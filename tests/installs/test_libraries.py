"""The CUDA wheels that torch pins: missing, mixed, or in other versions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .environments import Patient
from .judging import Doctor

pytestmark = pytest.mark.slow
New = Callable[..., Patient]
On = Callable[..., Doctor]
BOTH = ("pip", "uv")
AGAIN = pytest.param("pip", marks=pytest.mark.every_install)
"""pip takes the same path here as in a test that runs always."""


@pytest.mark.parametrize("kind", [AGAIN, "uv"])
def test_a_library_of_cuda_12_is_gone(patient: New, doctor: On, kind: str) -> None:
    sick = patient(kind)
    sick.put("torch==2.9.1")
    sick.drop("nvidia-cublas-cu12")
    doctor().treat(sick, "bundled-cuda-libs-missing")
    assert sick.installed["nvidia-cublas-cu12"] == "12.8.4.1"


@pytest.mark.parametrize(
    ("kind", "gone"),
    [
        ("uv", ("nvidia-cublas",)),
        ("uv", ("nvidia-cublas", "nvidia-cuda-runtime", "cuda-toolkit")),
        ("pip", ("nvidia-cublas", "nvidia-cuda-runtime", "cuda-toolkit")),
    ],
)
def test_a_library_of_cuda_13_is_gone(patient: New, doctor: On, kind: str, gone: tuple[str, ...]) -> None:
    """torch pins `cuda-toolkit[cublas,cudart,...]`: the wheels are what its extras bring."""
    sick = patient(kind)
    sick.put("torch==2.11.0")
    sick.drop(*gone)
    doctor().treat(sick, "bundled-cuda-libs-missing")
    assert sick.installed["nvidia-cublas"] == "13.1.0.3"


def test_all_of_cuda_13_is_gone(patient: New, doctor: On) -> None:
    sick = patient("uv")
    sick.put("--no-deps", "torch==2.11.0")
    doctor().treat(sick, "bundled-cuda-libs-missing")
    assert {"nvidia-cublas", "nvidia-cuda-runtime", "nvidia-cudnn-cu13", "nvidia-nccl-cu13"} <= sick.installed.keys()


@pytest.mark.parametrize("kind", BOTH)
def test_wheels_of_two_cuda_versions(patient: New, doctor: On, kind: str) -> None:
    """Both majors of cuDNN have their files in one folder: the right one is written again after the other is gone."""
    sick = patient(kind)
    sick.put("torch==2.9.1")
    sick.put("--no-deps", "nvidia-cudnn-cu13==9.19.0.56")
    doctor().treat(sick, "mixed-cuda-wheels")
    assert "nvidia-cudnn-cu13" not in sick.installed and sick.installed["nvidia-cudnn-cu12"] == "9.10.2.21"
    assert list(sick.prefix.glob("lib/python*/site-packages/nvidia/cudnn/lib/libcudnn.so.9"))


@pytest.mark.parametrize("kind", [AGAIN, "uv"])
def test_a_cudnn_that_torch_refuses(patient: New, doctor: On, kind: str) -> None:
    sick = patient(kind)
    sick.put("torch==2.9.1")
    sick.put("--no-deps", "nvidia-cudnn-cu12==9.1.0.70")
    doctor().treat(sick, "cudnn-shadowed-or-mismatched")
    assert sick.installed["nvidia-cudnn-cu12"] == "9.10.2.21"


def test_wheels_off_torchs_pins(patient: New, doctor: On) -> None:
    sick = patient("uv")
    sick.put("torch==2.9.1")
    sick.put("--no-deps", "nvidia-cublas-cu12==12.6.4.1", "nvidia-nccl-cu12==2.27.3")
    doctor().treat(sick, "nvidia-wheels-off-torch-pins")
    assert sick.installed["nvidia-cublas-cu12"] == "12.8.4.1" and sick.installed["nvidia-nccl-cu12"] == "2.27.5"


@pytest.mark.parametrize("kind", [AGAIN, "uv"])
def test_a_package_off_torchs_bounds(patient: New, doctor: On, kind: str) -> None:
    sick = patient(kind)
    sick.put("torch==2.9.1")
    sick.put("--no-deps", "sympy==1.12")
    doctor().treat(sick, "torch-requirements-unmet")
    assert sick.installed["sympy"] == "1.14.0" and sick.installed["torch"] == "2.9.1"


@pytest.mark.parametrize("kind", [AGAIN, "uv"])
def test_a_torch_that_cannot_be_imported(patient: New, doctor: On, kind: str) -> None:
    """A file of torch is cut off: the same version again, which pip and uv would leave as it is."""
    sick = patient(kind)
    sick.put("torch==2.9.1")
    library = next(sick.prefix.glob("lib/python*/site-packages/torch/lib/libtorch_cuda.so"))
    data = library.read_bytes()
    library.unlink()  # a hard link into uv's cache
    library.write_bytes(data[:100])
    doctor().treat(sick, "library-files-damaged")
    assert library.read_bytes() == data
