"""Findings that look like faults and are none (cases/README): the whole catalogue stays silent."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import EnvVar, Toolkit

from ..healthy import gpu, healthy
from ..judging import ids
from ..rows import for_each
from ..torches import not_asked, with_torch


@for_each(
    ("driver", "cuda"), [("525.147.05", "12.0"), ("535.183.06", "12.2"), ("550.90.07", "12.4"), ("570.211.01", "12.8")]
)
def test_cuda_12_builds_on_branches_525_to_570(driver: str, cuda: str) -> None:
    machine = healthy("a100", driver=driver, cuda=cuda)
    assert ids(machine) == []
    assert ids(not_asked(machine)) == []


@for_each(("driver", "cuda"), [("450.248.02", "11.0"), ("470.256.02", "11.4"), ("515.105.01", "11.7")])
def test_cuda_11_builds_on_branches_450_to_520(driver: str, cuda: str) -> None:
    machine = healthy("a100", driver=driver, cuda=cuda).replace({"driver.kernel_flavour": "proprietary"})
    old = with_torch(machine, "2.4.1", "cu118").replace({"torch.linked_libraries": ("libcudart.so.11.0",)})
    assert ids(old, status="fail") == []


@for_each(
    "facts",
    [
        {"torch.debug": True},
        {"cuda.toolkits": (Toolkit(path="/usr/local/cuda-11.8", version="11.8.0"),), "cuda.nvcc_version": "11.8"},
        {"cuda.toolkits": (Toolkit(path="/usr/local/cuda-13.2", version="13.2.0"),), "cuda.nvcc_version": "13.2"},
        {"host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", gpu("h100").key),)},
        {"torch_run.warnings": ("UserWarning: The given NumPy array is not writable",)},
    ],
)
def test_an_old_or_new_nvcc_a_debug_build_and_identifiers(facts: dict[str, Any]) -> None:
    assert ids(healthy().replace(facts)) == []
