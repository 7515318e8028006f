"""conda-forge's builds: what is offered for a GPU, a driver and a Python, and that a row stands behind each line."""

from __future__ import annotations

from collections.abc import Callable

from compat_matrix import Matrix

from ..rows import for_each
from .conftest import Edit


@for_each(
    ("gpus", "driver", "python", "torch", "first"),
    [
        (["9.0"], "580.82.07", "3.12", None, "pytorch=2.13.0=cuda130*"),
        (["12.0"], "570.211.01", "3.12", None, "pytorch=2.13.0=cuda129*"),  # within CUDA 12; its machine code serves
        (["8.6"], "550.54.15", "3.11", "2.7.1", "pytorch=2.7.1=cuda126*"),  # of two CUDA versions the nearer one
        (["12.0"], "570.211.01", "3.12", "2.6.0", None),  # no machine code for 12.0 before 2.7.1
        (["7.0"], "550.54.15", "3.11", None, "pytorch=2.5.1=cuda118*"),  # the newest cuDNN of CUDA 12 dropped Volta
        (["9.0"], "580.82.07", "3.15", None, None),
        (["9.0"], "470.57.02", "3.12", None, None),
        (["9.0"], None, "3.12", "2.8.0", "pytorch=2.8.0=cuda129*"),
        (["8.7"], "580.82.07", "3.12", None, "pytorch=2.13.0=cuda130*"),
        ([], "580.82.07", "3.12", None, None),
    ],
)
def test_the_build_for_a_machine(
    m: Matrix, gpus: list[str], driver: str | None, python: str, torch: str | None, first: str | None
) -> None:
    arch = "aarch64" if gpus == ["8.7"] else "x86_64"
    found = m.conda_builds(gpus, driver, "linux", arch, python, torch)
    assert next((choice.spec for choice in found), None) == first


def test_rows_are_those_of_the_recipes(m: Matrix) -> None:
    rows = {(row.torch, row.cuda): row for row in m.conda_rows if row.platform == "linux_x86_64"}
    assert rows["2.7.1", "12.6"].sass == ("5.0", "6.0", "6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0")
    assert rows["2.10.0", "13.0"].pythons == ("3.10", "3.11", "3.12", "3.13", "3.14")
    assert rows["2.10.0", "13.0"].glibc == "2.28" and rows["2.10.0", "12.9"].glibc == "2.17"
    assert all(row.needs_cuda for row in m.conda_rows), "without __cuda none of them is installed"
    assert {row.cuda for row in m.conda_rows if row.platform == "windows" and row.torch == "2.9.1"} == {"12.8"}


def test_a_recipe_may_ask_for_an_architecture(changed: Callable[[str, Edit], Matrix]) -> None:
    """cuda-arch of CEP 46: what `__cuda_arch`, the lowest capability of the machine, has to reach."""
    before = changed("conda", lambda rows: None).conda_builds(["7.0"], "580.82.07", python="3.11")
    m = changed("conda", lambda rows: [row.update(arch_floor="8.0") for row in rows])
    assert before and not m.conda_builds(["7.0"], "580.82.07", python="3.11")
    assert m.conda_builds(["8.0"], "580.82.07", python="3.11")
