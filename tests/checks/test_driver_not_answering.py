"""driver-not-answering: a fault is a finding of its own; a call that nobody made proves nothing."""

from __future__ import annotations

from doctor.report.healthline import healthline
from doctor.snapshot import NOT_ASKED, CallFault, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..proof.stories import BOARDS, KEY, driver_proof, proven, torch_proof
from ..sickness import nvml_says, without_libcuda, without_nvml


def hanging(s: Snapshot) -> Snapshot:
    """nvmlDeviceGetCount never returns, and cuInit neither."""
    late = Missing("timeout", "nvmlDeviceGetCount_v2 did not return")
    return s.replace(
        {
            "driver.faults": (CallFault("nvml", "nvmlDeviceGetCount_v2", "hang"), CallFault("cuda", "cuInit", "hang")),
            "driver.nvml_gpu_count": late,
            "gpus": late,
            "driver.cu_init": late,
            "driver.cuda_devices": late,
            "torch_run.cuda_available": late,
            "torch_run.device_count": late,
            "torch_run.first_call_code": late,
            "torch_run.kernel_ran": late,
        }
    )


def test_healthy_machine_passes() -> None:
    assert run("driver-not-answering", healthy())[0] == "pass"


def test_each_fault_is_named_and_comes_first() -> None:
    sick = hanging(healthy())
    assert [f.subject for f in run("driver-not-answering", sick)[2]] == ["cuInit", "nvmlDeviceGetCount_v2"][::-1]
    assert ids(sick)[:2] == ["driver-not-answering"] * 2


def test_a_crash_is_told_apart_from_a_hang() -> None:
    sick = healthy().replace({"driver.faults": (CallFault("cuda", "cuInit", "crash", "signal 11"),)})
    finding = run("driver-not-answering", sick)[2][0]
    assert "crash" in finding.title and "signal 11" in finding.detail


def test_the_fix_works_on_a_host_and_in_a_container() -> None:
    for sick in (hanging(healthy()), hanging(healthy(container=True))):
        finding = run("driver-not-answering", sick)[2][0]
        assert finding.fixes[0].possible_here
        assert_fix_works(sick, finding)


def test_calls_that_nobody_made_are_unknown() -> None:
    assert run("driver-not-answering", healthy().replace({"driver.cu_init": NOT_ASKED}))[0] == "unknown"
    assert run("driver-not-answering", nvml_says(healthy(), 9).replace({"driver.nvml_init": NOT_ASKED}))[0] == "unknown"


def test_a_library_that_is_not_there_cannot_hang() -> None:
    assert run("driver-not-answering", without_nvml(healthy()))[0] == "pass"
    assert run("driver-not-answering", without_nvml(without_libcuda(healthy())))[0] == "skipped"


def test_a_kernel_of_the_proof_that_never_ends() -> None:
    board = BOARDS["h100"]
    late = driver_proof(board, right=Missing("timeout"), fault="hang", failed_call="cuLaunchKernel")
    hung = torch_proof(board, right=Missing("timeout"), fault="hang", failed_step="matmul")
    for torch, status in ((torch_proof(board), "warn"), (hung, "fail")):
        s = proven(board, driver=(late,), torch=(torch,))
        got, _, (finding,) = run("driver-not-answering", s)
        assert (got, finding.subject) == (status, KEY) and finding.title.startswith(
            "cuLaunchKernel hangs on NVIDIA H100"
        )
        assert_every_fix_is_gone_after(s)
        assert "proven" not in healthline(report(s))


def assert_every_fix_is_gone_after(s: Snapshot) -> None:
    for fix in run("driver-not-answering", s)[2][0].fixes:
        after = s
        for step in fix.steps:
            after = after.replace(step.changes)
        assert after != s and run("driver-not-answering", after)[2] == []
