"""torch-dropped-old-gpu-sm: Maxwell, Pascal and Volta under newer builds."""

from __future__ import annotations

from doctor.snapshot import ABSENT, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..torches import no_kernel_image, with_torch

ID = "torch-dropped-old-gpu-sm"


def old_gpu(model: str, version: str, tag: str) -> Snapshot:
    """An older GPU with a newer build: devices are counted, kernels do not run."""
    return no_kernel_image(with_torch(healthy(model), version, tag))


@for_each(("model", "tag"), [("gtx1080", "cu128"), ("v100", "cu128"), ("v100", "cu130")])
def test_torch_2_11_left_pascal_and_volta_out(model: str, tag: str) -> None:
    sick = old_gpu(model, "2.11.0", tag)
    found = ids(sick, status="fail")
    assert found[0] == ID
    assert "torch-lacks-new-gpu-sm" not in found


@for_each("model", ["gtx1080", "v100"])
def test_the_fix_names_a_cuda_12_6_build(model: str) -> None:
    """A rival prescribes cu130 for a V100, which has no code for it."""
    sick = old_gpu(model, "2.11.0", "cu130")
    finding = run(ID, sick)[2][0]
    assert_fix_works(sick, finding)
    assert "https://download.pytorch.org/whl/cu126" in finding.fixes[0].steps[-1].command


@for_each("model", ["gtx1080", "v100"])
def test_the_cuda_12_6_build_serves_them(model: str) -> None:
    assert run(ID, with_torch(healthy(model), "2.11.0", "cu126"))[0] == "pass"


def test_two_gpus_no_build_serves_both() -> None:
    """A GTX 1080 beside an RTX 5090 (under WSL; no Linux kernel module drives both): programs can be given one."""
    wsl = {"host.wsl": 2, "driver.kernel_version": ABSENT, "driver.kernel_flavour": ABSENT}
    sick = no_kernel_image(with_torch(healthy("rtx5090", "gtx1080"), "2.11.0", "cu128")).replace(wsl)
    status, _, findings = run(ID, sick)
    assert status == "fail"
    assert [f.subject for f in findings] == [sick.gpus[1].key]  # type: ignore[index]
    assert any("CUDA_VISIBLE_DEVICES" in step.command for fix in findings[0].fixes for step in fix.steps)
    assert_fix_works(sick, findings[0])


def test_unknown_without_the_deciding_fact() -> None:
    gone = {name: Missing("error") for name in ("torch.sass", "torch.arch_text", "torch_run.arch_list")}
    sick = old_gpu("gtx1080", "2.11.0", "cu128").replace({**gone, "torch.version": "2.11.0"})
    assert run(ID, sick)[0] == "unknown"
