"""torch-ptx-jit-only: what the driver has to compile at first use."""

from __future__ import annotations

from doctor.snapshot import Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import not_asked, with_torch

ONLY_PTX = {
    "torch.sass": ("8.0", "8.6", "9.0"), "torch.ptx": ("9.0",),
    "torch.arch_text": ("sm_80", "sm_86", "sm_90", "compute_90"),
    "torch_run.arch_list": ("sm_80", "sm_86", "sm_90", "compute_90"),
}  # fmt: skip


def blackwell_by_ptx(driver: str = "580.82.07", cuda: str = "13.0") -> Snapshot:
    """RTX 5090 with a 2.8 build that was compiled for 9.0 with its PTX."""
    return healthy("rtx5090", driver=driver, cuda=cuda).replace(ONLY_PTX)


def test_machine_code_passes() -> None:
    assert run("torch-ptx-jit-only", healthy("rtx5090"))[0] == "pass"


def test_ptx_that_the_driver_compiles_is_a_warning() -> None:
    sick = blackwell_by_ptx()
    assert ids(sick) == ["torch-ptx-jit-only"]
    assert_fix_works(sick, run("torch-ptx-jit-only", sick)[2][0])


def test_unknown_without_the_deciding_fact() -> None:
    gone = {name: Missing("error") for name in ("torch.sass", "torch.arch_text")}
    sick = not_asked(blackwell_by_ptx()).replace({**gone, "torch.version": "2.8.0"})
    assert run("torch-ptx-jit-only", sick)[0] == "unknown"


def test_a_build_of_the_index_with_ptx_and_machine_code_passes() -> None:
    assert run("torch-ptx-jit-only", with_torch(healthy("rtx5090"), "2.8.0", "cu129"))[0] == "pass"
