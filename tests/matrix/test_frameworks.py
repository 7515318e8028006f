"""Frameworks other than torch: releases, and what they were built with."""

from __future__ import annotations

import pytest

from compat_matrix import Matrix
from compat_matrix.frameworks import sonames
from compat_matrix.versions import numbers


@pytest.mark.parametrize(
    ("package", "version", "cuda", "cudnn", "python"),
    [  # by tensorflow.org/install/source, onnxruntime.ai, PyPI
        ("tensorflow", "2.1.0", "10.1", "7.6", "3.7"),
        ("tensorflow-gpu", "1.15.5", "10.0", "7.4", "3.6"),
        ("tensorflow", "2.10.1", "11.2", "8.1", "3.10"),
        ("tensorflow", "2.13", "11.8", "8.6", "3.8"),
        ("tensorflow", "2.15.1", "12.2", "8.9", "3.11"),
        ("tensorflow", "2.20.0", "12.5", "9.3", "3.13"),
        ("onnxruntime_gpu", "1.18.1", "11.8", "8", "3.12"),
        ("onnxruntime-gpu", "1.19.2", "12", "9", "3.12"),
        ("jax-cuda12-plugin", "0.4.30", "12.1", "9.0", "3.9"),
        ("jax-cuda13-plugin", "0.8.1", "13.0", "9.12", "3.14"),
        ("cupy-cuda11x", "13.6.0", "11", "", "3.13"),
    ],
)
def test_a_release(m: Matrix, package: str, version: str, cuda: str, cudnn: str, python: str) -> None:
    (row,) = m.framework(package, version)
    assert (row.cuda, row.cudnn) == (cuda, cudnn) and python in row.pythons


def test_one_name_for_several_builds(m: Matrix) -> None:
    assert {row.package for row in m.framework("jax", "0.9.0")} == {"jax-cuda12-plugin", "jax-cuda13-plugin"}
    assert {row.cuda for row in m.framework("paddlepaddle-gpu", "3.0.0")} == {"11.8", "12.6"}
    assert {row.cuda for row in m.framework("cupy", "13.6.0")} >= {"11", "12"}
    assert m.framework("tensorflow", "3.99") == m.framework("torch", "2.8.0") == m.framework("jax", "x") == ()


def test_names_of_libraries(m: Matrix) -> None:
    """As the projects' own messages name them: 'Could not load dynamic library libcudart.so.10.1'."""

    def names(version: str) -> tuple[str, ...]:
        return sonames(m.framework("tensorflow", version)[0])

    assert names("1.12.0") == ("libcudart.so.9.0", "libcublas.so.9.0", "libcudnn.so.7")
    assert names("2.0.0") == ("libcudart.so.10.0", "libcublas.so.10.0", "libcudnn.so.7")
    assert names("2.3.1") == ("libcudart.so.10.1", "libcublas.so.10", "libcudnn.so.7")
    assert names("2.11.0") == ("libcudart.so.11.0", "libcublas.so.11", "libcudnn.so.8")
    assert names("2.19.0") == ("libcudart.so.12", "libcublas.so.12", "libcudnn.so.9")


def test_a_patch_without_a_wheel_for_windows(m: Matrix) -> None:
    """By the names of tensorflow-gpu's wheels on the package index."""
    found = {
        v: "windows" in m.framework("tensorflow", v)[0].gpu_platforms for v in ("1.4.0", "1.4.1", "1.10", "1.10.1")
    }
    assert found == {"1.4.0": True, "1.4.1": False, "1.10": True, "1.10.1": False}


def test_newer_releases_ask_for_no_older_cuda(m: Matrix) -> None:
    for package in ("tensorflow", "onnxruntime-gpu"):
        rows = sorted((r for r in m.frameworks if r.package == package), key=lambda row: numbers(row.version))
        cudas = [numbers(row.cuda)[:1] for row in rows]
        assert cudas == sorted(cudas) and len(rows) > 15
