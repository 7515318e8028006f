"""What people call a GPU beside what a driver calls it."""

from __future__ import annotations

import pytest

from ..judging import matrix
from ..rows import for_each


@for_each(
    ("name", "model", "called"),
    [
        ("NVIDIA H100 80GB HBM3", "H100", True),
        ("NVIDIA H100 80GB HBM3", "h100 80gb", True),
        ("NVIDIA H100 80GB HBM3", "H100 SXM", True),
        ("NVIDIA H100 PCIe", "H100 SXM", False),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB", True),
        ("NVIDIA A100-SXM4-80GB", "A100 40GB", False),
        ("NVIDIA A100-SXM4-80GB", "A10", False),
        ("NVIDIA GeForce RTX 4090", "RTX4090", True),
        ("NVIDIA GeForce RTX 4090", "geforce rtx 4090", True),
        ("NVIDIA L40S", "L40", False),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000", True),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX 6000", False),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100 MIG 1g.10gb", True),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "MIG 2g.20gb", False),
        ("NVIDIA R300", "R300", True),
        ("", "H100", False),
    ],
)
def test_what_a_gpu_is_called(name: str, model: str, called: bool) -> None:
    assert matrix().is_model(name, model) is called


@for_each(
    "model", ["H100", "rtx4090", "A100-SXM4", "A100 80GB", "T4", "MIG 1g.10gb", "H100 MIG 1g.10gb", "A40-48Q", "MX150"]
)
def test_models_that_are_listed(model: str) -> None:
    assert matrix().lists_model(model)


@for_each(
    ("model", "first"),
    [
        ("H20O", "H200"),
        ("B20O", "B200"),
        ("Al00", "A100"),
        ("RTX490", "RTX 4090"),
        ("4090Ti", None),
        ("L4O", "L40"),
        ("Voodoo", None),
        ("zz", None),
    ],
)
def test_models_that_are_not_listed_and_the_nearest(model: str, first: str | None) -> None:
    assert not matrix().lists_model(model)
    near = matrix().nearest_models(model)
    assert first is None or near[0] == first
    assert len(near) <= 3 and all(matrix().lists_model(name) for name in near)


@pytest.mark.slow
def test_every_name_of_the_matrix_is_listed() -> None:
    m = matrix()
    for row in m.gpus:
        assert m.lists_model(row.name) and m.is_model(row.name, row.name)
        assert all(m.lists_model(name) for name in m.nearest_models(row.name))
