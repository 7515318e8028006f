"""torch-lacks-new-gpu-sm: by bytes, for every GPU, by NVIDIA's binary compatibility."""

from __future__ import annotations

from doctor.findings import Fix
from doctor.snapshot import ABSENT, Missing, Snapshot, known
from doctor.text import read

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..torches import no_kernel_image, not_asked, with_torch

ID = "torch-lacks-new-gpu-sm"


def blackwell_with_old_torch() -> Snapshot:
    """RTX 5090 (12.0) with a CUDA 12.4 build that ends at 9.0."""
    return no_kernel_image(with_torch(healthy("rtx5090"), "2.6.0", "cu124"))


@for_each("model", ["h100", "a100", "l4", "t4", "v100", "rtx4090", "rtx5090", "rtx3060"])
def test_torch_2_8_serves_volta_to_blackwell(model: str) -> None:
    assert run(ID, healthy(model))[0] == "pass"


def test_an_l4_needs_no_8_9_in_the_list() -> None:
    """8.6 code runs on 8.9: rivals call this a mismatch."""
    assert run(ID, with_torch(healthy("l4"), "2.6.0", "cu124"))[0] == "pass"


def test_a_new_gpu_with_an_old_build_is_the_one_finding() -> None:
    assert ids(blackwell_with_old_torch(), status="fail")[0] == ID
    finding = run(ID, blackwell_with_old_torch())[2][0]
    assert finding.facts["compute_capability"] == "12.0"
    assert "9.0" in finding.detail


def test_the_fix_works_and_names_a_build_for_both_gpu_and_driver() -> None:
    sick = blackwell_with_old_torch()
    finding = run(ID, sick)[2][0]
    assert_fix_works(sick, finding)
    fix: Fix = finding.fixes[0]
    assert fix.possible_here
    assert "/opt/venv/bin/python -m pip install" in fix.steps[-1].command


def test_every_gpu_is_judged_not_only_the_first() -> None:
    sick = with_torch(healthy("h100", "rtx5090"), "2.6.0", "cu124")
    findings = run(ID, not_asked(sick))[2]
    assert [f.subject for f in findings] == [sick.gpus[1].key]  # type: ignore[index]


def test_a_gpu_that_programs_do_not_get_is_not_judged() -> None:
    sick = with_torch(healthy("h100", "rtx5090"), "2.6.0", "cu124")
    devices = sick.driver.cuda_devices
    assert not isinstance(devices, Missing)
    assert run(ID, sick.replace({"driver.cuda_devices": devices[:1]}))[0] == "pass"


def test_without_bytes_torchs_own_list_decides() -> None:
    for gone in ({"torch.sass": ABSENT}, {"torch.sass": ABSENT, "torch_run.arch_list": ABSENT}):
        assert run(ID, blackwell_with_old_torch().replace(gone))[0] == "fail"


def test_without_any_witness_it_is_unknown() -> None:
    gone = {name: Missing("denied") for name in ("torch.sass", "torch.arch_text", "torch_run.arch_list")}
    sick = blackwell_with_old_torch().replace({**gone, "torch.version": "2.6.0"})
    status, reason, _ = run(ID, sick)
    assert (status, "torch.sass" in reason) == ("unknown", True)


def test_without_gpu_facts_it_is_unknown() -> None:
    denied = Missing("denied")
    sick = not_asked(blackwell_with_old_torch()).replace({"gpus": denied, "driver.cuda_devices": denied})
    assert run(ID, sick)[0] == "unknown"


def test_witnesses_that_disagree_are_told() -> None:
    sick = blackwell_with_old_torch().replace({"torch_run.arch_list": ("sm_90", "sm_120")})
    assert "says otherwise" in run(ID, sick)[2][0].detail


def test_an_unlisted_gpu_is_unknown() -> None:
    gpus = healthy("rtx5090").gpus
    assert not isinstance(gpus, Missing)
    future = (gpus[0].with_(compute_capability="15.0"),)
    assert run(ID, not_asked(healthy("rtx5090")).replace({"gpus": future}))[0] == "unknown"


@for_each(
    ("gpu", "cuda", "found"),
    [
        ("RTX 3090", "10.2", ID),
        ("GTX 1060", "12.8", "torch-dropped-old-gpu-sm"),
        ("RTX 3090", "12.8", ""),
        ("RTX 5090", "12.6", ID),
    ],
)
def test_a_text_that_tells_torchs_cuda_alone(gpu: str, cuda: str, found: str) -> None:
    """No release for that CUDA has code for the GPU; where one has, nothing is said."""
    told = report(read(f"GPU: {gpu}\nCUDA used to build PyTorch: {cuda}\n"))
    assert [f.id for f in told.findings if f.status == "fail"] == ([found] if found else [])
    if found:
        assert_fix_works(told.snapshot, told.findings[0])
        assert known(told.snapshot.torch.version) is None and cuda in told.findings[0].title
