"""ptx-newer-than-driver: an older driver runs newer machine code, but does not compile newer PTX."""

from __future__ import annotations

from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import no_kernel_image, not_asked
from .test_torch_ptx_jit_only import blackwell_by_ptx


def test_machine_code_passes() -> None:
    assert run("ptx-newer-than-driver", healthy("rtx5090"))[0] == "pass"
    assert run("ptx-newer-than-driver", healthy("a100", driver="535.129.03", cuda="12.2"))[0] == "pass"


def test_ptx_of_a_newer_cuda_than_the_driver_fails() -> None:
    """CUDA 12.8 PTX on a driver that reports 12.7 (which knows an RTX 5090 in no other way)."""
    sick = no_kernel_image(blackwell_by_ptx(cuda="12.7"))
    found = ids(sick, status="fail")
    assert "ptx-newer-than-driver" in found
    assert "torch-lacks-new-gpu-sm" not in found
    finding = run("ptx-newer-than-driver", sick)[2][0]
    assert finding.facts["ptx_needs_cuda"] == "12.8"
    assert_fix_works(sick, finding)


def test_what_ran_beats_the_table() -> None:
    assert run("ptx-newer-than-driver", blackwell_by_ptx(cuda="12.7"))[0] == "pass"


def test_unknown_without_the_deciding_fact() -> None:
    gone = {name: Missing("error") for name in ("torch.sass", "torch.arch_text")}
    sick = not_asked(blackwell_by_ptx(cuda="12.7")).replace({**gone, "torch.version": "2.8.0"})
    assert run("ptx-newer-than-driver", sick)[0] == "unknown"
