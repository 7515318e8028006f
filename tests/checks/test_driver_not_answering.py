"""driver-not-answering: a fault is a finding of its own; a call that nobody made proves nothing."""

from __future__ import annotations

from typing import Any

from doctor.findings import Expect, Policy
from doctor.report.healthline import healthline
from doctor.snapshot import NOT_ASKED, CallFault, Missing, PciDevice, Snapshot, StepEnd

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


def test_it_fails_where_no_card_is_seen_and_none_is_asked_for() -> None:
    """A driver that hangs saw no GPU; every program that asks it hangs all the same."""
    bridge = PciDevice(address="0000:00:00.0", vendor="8086", device="29c0", class_code="060000")
    sick = hanging(healthy()).replace({"driver.pci_devices": (bridge,), "driver.device_nodes": ()})
    for expect in ("any", "gpu"):
        found = report(sick, Policy(expect=Expect.parse(expect)))
        assert "driver-not-answering" in [f.id for f in found.findings if f.status == "fail"]
        assert found.exit_code == 1 and not [r for r in found.remarks if r.id == "no-nvidia-gpu"]


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


def timed(step: str, fault: str, detail: str = "", **more: Any) -> StepEnd:
    facts: dict[str, Any] = {"agent": "torch_speed", "device": "cuda:0", "silent_s": 45.0, **more}
    return StepEnd(step=step, fault=fault, detail=detail, **facts)  # type: ignore[arg-type]


def test_what_is_timed_and_never_ends_is_a_warning() -> None:
    """torch's first proof was right; a bf16 product then hangs, crashes or ends in an error of CUDA."""
    error = "RuntimeError: CUDA error: unspecified launch failure"
    for end, words in (
        (timed("matmul bf16", "hang", "no answer for 45 s"), "matmul bf16 hangs on NVIDIA H100"),
        (timed("memory copy", "crash", "SIGSEGV"), "memory copy crashes on NVIDIA H100"),
        (timed("matmul fp16", "failed", error), "matmul fp16 fails on NVIDIA H100"),
        (timed("soak 12 of 600 s", "hang", agent="torch_soak"), "soak 12 of 600 s hangs on NVIDIA H100"),
    ):
        s = proven(BOARDS["h100"], ended=(end,))
        status, _, (finding,) = run("driver-not-answering", s)
        assert (status, finding.subject) == ("warn", KEY) and finding.title.startswith(words)
        assert_every_fix_is_gone_after(s)


def test_what_was_left_out_slow_or_our_own_fault_is_no_answer_of_the_driver() -> None:
    for end in (
        timed("matmul bf16", "skipped", "no time left"),
        timed("matmul bf16", "slow", "it was still reading: the disk is slow"),
        timed("matmul bf16", "failed", "AttributeError: 'NoneType' object has no attribute 't'"),
        timed("import torch", "hang"),
        timed("matmul bf16", "hang", silent_s=4.0),
        timed("small training", "hang", agent="training_speed", device=""),
        timed("matmul bf16", "hang", device="cpu"),
    ):
        assert run("driver-not-answering", proven(BOARDS["h100"], ended=(end,)))[0] == "pass", end


def assert_every_fix_is_gone_after(s: Snapshot) -> None:
    for fix in run("driver-not-answering", s)[2][0].fixes:
        after = s
        for step in fix.steps:
            after = after.replace(step.changes)
        assert after != s and run("driver-not-answering", after)[2] == []
