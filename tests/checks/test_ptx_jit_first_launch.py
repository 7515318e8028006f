"""ptx-jit-first-launch: kernels that the driver compiled."""

from __future__ import annotations

from doctor.snapshot import EnvVar, Missing

from ..judging import ids, report, run
from ..proof.stories import BOARDS, KEY, assert_every_fix_is_looked_at_again, machine, proven, torch_proof

ID = "ptx-jit-first-launch"
B = BOARDS["pro6000"]
JIT = (torch_proof(B, code="ptx-jit", first_launch_ms=38500.0, jit_cache_bytes=212_000_000),)


def test_compiled_kernels_warn_with_the_figures() -> None:
    s = proven(B, torch=JIT)
    done = report(s)
    assert ids(s) == [ID] and done.exit_code == 0 and done.findings[0].subject == KEY
    assert "38.5 s" in done.findings[0].detail and "212.0 MB" in done.findings[0].detail
    assert done.measured is not None and done.measured.cuda_compatibility == "suspect"
    assert_every_fix_is_looked_at_again(s, done.findings[0])


def test_with_the_table_it_is_told_under_it() -> None:
    s = machine(B).replace(
        {
            "torch.sass": ("8.0", "9.0"),
            "torch.ptx": ("9.0",),
            "torch_run.arch_list": ("sm_80", "sm_90", "compute_90"),
            "torch.arch_text": ("sm_80", "sm_90", "compute_90"),
        }
    )
    done = report(proven(B, s, torch=JIT))
    assert [f.id for f in done.findings] == ["torch-ptx-jit-only", ID]
    assert done.findings[1].downstream_of == ("torch-ptx-jit-only",)
    assert done.findings[1].cause == "torch-ptx-jit-only" and not done.findings[1].fixes


def test_a_variable_that_forces_it() -> None:
    s = proven(B, machine(B, environment=(EnvVar("CUDA_FORCE_PTX_JIT", "1"),)), torch=JIT)
    done = report(s)
    mine = next(f for f in done.findings if f.id == ID)
    assert mine.cause == "environment-variable-breaks-cuda" and not mine.fixes
    assert "unset" in done.findings[0].fixes[0].steps[0].command


def test_native_or_not_known() -> None:
    assert run(ID, proven(B)) == ("pass", "", [])
    assert run(ID, proven(B, torch=(torch_proof(B, code=Missing("denied", "no cache folder")),)))[0] == "unknown"
    assert run(ID, proven(B, device="cpu", torch=(torch_proof(B, device="cpu"),)))[0] == "skipped"
