"""gpu-path-unused: what was proven, and where the root cause stands above it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.report.healthline import healthline
from doctor.snapshot import ABSENT, NOT_ASKED, EnvVar, Missing, Snapshot, StepEnd

from ..healthy import healthy
from ..judging import POLICY, ids, report, run
from ..proof.stories import (
    BOARDS,
    KEY,
    assert_every_fix_is_looked_at_again,
    driver_proof,
    load,
    machine,
    proven,
    torch_proof,
    watched,
)
from ..rows import for_each
from ..sickness import not_installed
from ..torches import with_other_build
from .test_no_nvidia_gpu import without_gpu

ID = "gpu-path-unused"
B = BOARDS["h100"]
ANY = Policy(judged_on="2026-11-20", expect=Expect(kind="any"))


def without(**measured: Any) -> Snapshot:
    """The proof found no GPU in torch."""
    return proven(
        B, **{"torch_devices": (), "torch": (), "rates": (), "loads": (), "training": (), "batches": (), **measured}
    )


def test_a_gpu_that_computes_right_is_used() -> None:
    assert run(ID, proven(B)) == ("pass", "", [])


def test_no_gpu_in_torch_fails_with_the_proof_in_words() -> None:
    s = without()
    assert ids(s) == [ID] and report(s).exit_code == 1
    finding = run(ID, s)[2][0]
    assert finding.status == "fail" and finding.severity == "critical"
    assert "torch.cuda.is_available() is False" in finding.detail
    assert "the driver works, but torch does not" in finding.detail
    assert_every_fix_is_looked_at_again(s, finding)


@for_each(
    ("driver", "words"),
    [
        (
            {"right": Missing("error"), "failed_call": "cuCtxCreate_v2", "error_name": "CUDA_ERROR_UNKNOWN"},
            "CUDA_ERROR_UNKNOWN in cuCtxCreate_v2",
        ),
        ({"right": Missing("timeout"), "fault": "hang"}, "hang"),
        ({"right": False, "wrong_elements": 7}, "wrong results too"),
    ],
)
def test_a_broken_driver_is_told_from_a_broken_torch(driver: dict[str, Any], words: str) -> None:
    finding = run(ID, without(driver=(driver_proof(B, **driver),)))[2][0]
    assert words in finding.detail and "torch does not" not in finding.detail


def test_the_root_cause_stands_above_it() -> None:
    for s, cause in (
        (with_other_build(machine(B)), "cpu-only-torch"),
        (not_installed(machine(B)), "driver-not-installed"),
        (without_gpu(healthy()), "no-nvidia-gpu"),
    ):
        sick = without().measured
        done = report(s.replace({"measured": sick}))
        assert done.findings[0].id == cause and not done.findings[0].downstream_of
        mine = next(f for f in done.findings if f.id == ID)
        assert cause in mine.downstream_of


def test_the_fix_of_the_root_cause_makes_the_measurement_stale() -> None:
    s = with_other_build(machine(B)).replace({"measured": without().measured})
    for step in run("cpu-only-torch", s)[2][0].fixes[0].steps:
        s = s.replace(step.changes)
    status, reason, said = run(ID, s)
    assert (status, said) == ("unknown", []) and "recheck" in reason


@for_each(
    ("proof", "words"),
    [
        (
            {
                "right": Missing("error"),
                "failed_step": "matmul",
                "error": "CUDA error: no kernel image is available",
                "fault": "failed",
            },
            "no kernel image",
        ),
        ({"right": Missing("timeout"), "failed_step": "matmul", "fault": "hang"}, "hang in matmul"),
        ({"tensor_device": "cpu", "process_seen": False}, "are on cpu, and NVML did not see the process"),
    ],
)
def test_a_device_that_did_not_compute(proof: dict[str, Any], words: str) -> None:
    s = proven(B, torch=(torch_proof(B, **proof),))
    status, _, findings = run(ID, s)
    assert status == "fail" and words in findings[0].detail and findings[0].subject == KEY


def test_one_sick_gpu_of_two_is_named() -> None:
    sick = torch_proof(B, device="cuda:1", key="GPU-two", right=Missing("error"), error="CUDA error 719", fault="crash")
    s = proven(B, torch_devices=("cuda:0", "cuda:1"), torch=(torch_proof(B), sick))
    findings = run(ID, s)[2]
    assert [f.subject for f in findings] == ["GPU-two"] and "cuda:1" in findings[0].title


def test_a_proof_that_hung_without_a_result() -> None:
    end = StepEnd(agent="torch_proof", step="matmul", device="cuda:0", fault="hang")
    for ends in ((end,), (StepEnd(agent="torch_proof", step="torch_devices", fault="crash"),)):
        s = proven(B, torch=(), torch_devices=("cuda:0",) if ends[0].device else NOT_ASKED, ended=ends)
        status, _, findings = run(ID, s)
        assert status == "fail" and ends[0].step in findings[0].detail


def test_another_device_than_torch_has() -> None:
    s = proven(B, device="cuda:3", torch=())
    assert "cuda:3 was requested, but torch sees cuda:0" in run(ID, s)[2][0].detail


def test_torch_that_cannot_be_asked() -> None:
    assert run(ID, without(torch_devices=Missing("error", "ImportError: libcudart.so.12")))[0] == "fail"
    assert run(ID, without(torch_devices=ABSENT, torch=ABSENT))[0] == "fail"
    status, _, (finding,) = run(ID, without(torch_devices=Missing("timeout", "import torch"), torch=NOT_ASKED))
    assert status == "unknown" and "no result" in finding.detail


def test_memory_that_ran_out_proves_nothing() -> None:
    for proof in ({"error": "CUDA out of memory. Tried to allocate"}, {"error": "CUDA error", "error_code": 2}):
        s = proven(B, torch=(torch_proof(B, right=Missing("error"), fault="failed", **proof),))
        status, _, (finding,) = run(ID, s)
        assert (status, finding.status) == ("unknown", "unknown") and "No memory was free" in finding.detail
        assert report(s).exit_code == 3 and "memory is free" in finding.fixes[0].title
        assert_every_fix_is_looked_at_again(s, finding)


def test_a_gpu_that_was_not_reached_is_not_healthy() -> None:
    devices = tuple(f"cuda:{n}" for n in range(3))
    over = StepEnd(
        agent="torch_proof", step="test with torch", device="cuda", fault="skipped", detail="the 60 s were over"
    )
    s = proven(B, torch_devices=devices, ended=(over,))
    status, _, (finding,) = run(ID, s)
    assert status == "unknown" and "cuda:1, cuda:2: the 60 s were over" in finding.detail
    assert healthline(report(s)).startswith("UNKNOWN gpu-path-unused")
    assert run(ID, proven(B, torch_devices=devices, device="cuda:0"))[0] == "pass"  # nobody asked for the others


def test_torch_that_offers_fewer_than_libcuda() -> None:
    s = proven(B)
    assert isinstance(s.driver.cuda_devices, tuple)
    two = (s.driver.cuda_devices[0], replace(s.driver.cuda_devices[0], ordinal=1, uuid="GPU-two"))
    status, _, (finding,) = run(ID, s.replace({"driver.cuda_devices": two}))
    assert status == "unknown" and "1 of the 2 GPUs" in finding.detail


SICK = {"right": Missing("timeout"), "fault": "hang", "failed_call": "cuLaunchKernel"}


def test_libcuda_alone_shows_a_sick_gpu_where_there_is_no_torch() -> None:
    drivers = (driver_proof(B), driver_proof(B, device=1, key="GPU-two", **SICK))
    s = without(torch_devices=ABSENT, torch=ABSENT, driver=drivers).replace({"torch.version": ABSENT})
    findings = {f.status: f for f in run(ID, s)[2]}
    assert findings.keys() == {"warn", "fail"}  # no torch is a warning, the GPU is not
    sick = findings["fail"]
    assert sick.title == "cuda:1 cannot run a kernel, even without torch" and "hang in cuLaunchKernel" in sick.detail
    assert sick.fixes[0].steps[0].command == "export CUDA_VISIBLE_DEVICES=0"
    assert "driver-not-answering" in ids(s)
    assert_every_fix_is_looked_at_again(s, sick)


def test_no_torch_is_no_more_than_a_warning_where_libcuda_computes() -> None:
    s = without(torch_devices=ABSENT, torch=ABSENT).replace({"torch.version": ABSENT})
    assert [f.status for f in run(ID, s)[2]] == ["warn"] and report(s).exit_code == 0
    assert [f.id for f in report(s).findings] == ["torch-not-installed", ID]
    assert healthline(report(s)).startswith("OK proven: ")
    required = Policy(judged_on=POLICY.judged_on, require=("torch",))
    assert report(s, required).exit_code == 1


def test_the_driver_is_blamed_for_its_own_gpu_alone() -> None:
    """libcuda hung on GPU 0, torch on GPU 1."""
    drivers = (driver_proof(B, **SICK), driver_proof(B, device=1, key="GPU-two"))
    torches = (torch_proof(B), torch_proof(B, device="cuda:1", key="GPU-two", right=Missing("timeout"), fault="hang"))
    s = proven(B, torch_devices=("cuda:0", "cuda:1"), driver=drivers, torch=torches)
    (finding,) = run(ID, s)[2]
    assert "torch does not" in finding.detail and "driver-not-answering" not in finding.downstream_of
    assert finding.fixes[0].id != "leave-gpu-out"  # no GPU is left that both proved
    assert healthline(report(s)).startswith("FAIL gpu-path-unused")


def test_the_cpu_as_asked_is_a_remark() -> None:
    cpu = torch_proof(B, device="cpu", key="", tensor_device="cpu")
    s = without_gpu(healthy()).replace({"measured": without(device="cpu", driver=NOT_ASKED, torch=(cpu,)).measured})
    status, _, findings = run(ID, s, ANY)
    assert (status, [f.severity for f in findings]) == ("pass", ["info"])
    assert report(s, ANY).exit_code == 0
    assert run(ID, proven(B, device="cpu", torch=(cpu,)))[0] == "skipped"  # torch has a GPU, nobody asked for it


def test_expectations() -> None:
    s = without_gpu(healthy()).replace({"measured": without().measured})
    assert run(ID, s)[0] == "fail"
    assert run(ID, s, ANY)[0] == "pass"  # no GPU is a remark
    assert run(ID, without(), ANY)[0] == "fail"  # one that is there is judged
    assert run(ID, s, Policy(judged_on=POLICY.judged_on, expect=Expect(kind="none")))[0] == "skipped"


LIBRARIES = ("libcudart.so.12", "libtorch_cuda.so")


@for_each(
    ("watch", "status", "words"),
    [
        ({"uses_gpu": False, "libraries": ()}, "fail", "loaded no CUDA library"),
        ({"uses_gpu": False, "libraries": LIBRARIES}, "fail", "were not moved to the GPU"),
        ({"uses_gpu": False, "libraries": ("libcudart.so.12",)}, "fail", "never opened a GPU"),
        ({"uses_gpu": False, "libraries": NOT_ASKED}, "fail", "used no GPU"),
        ({"gpu_busy_percent": 0.0, "gpu_idle_percent": 100.0}, "warn", "gave it no work"),
        ({"gpu_busy_percent": 5.0}, "pass", ""),
        ({"gpu_busy_percent": Missing("denied")}, "pass", ""),
        ({"uses_gpu": Missing("denied", "no permission")}, "unknown", "no permission"),
        ({"uses_gpu": False, "exit_code": 1}, "unknown", "exit code 1"),
        ({"uses_gpu": False, "seconds": 1.0}, "unknown", "was not watched long enough"),
        ({"uses_gpu": False, "seconds": 8.0, "exit_code": ABSENT, "signal": 2}, "unknown", "stopped early"),
        ({"uses_gpu": False, "seconds": 80.0, "exit_code": ABSENT, "signal": 2}, "fail", "used no GPU"),
        ({"gpu_busy_percent": 0.0, "exit_code": 1}, "unknown", "it ended with exit code 1, and no GPU work was seen"),
        ({"uses_gpu": False, "attached": True}, "fail", "was watched for 60 s"),
    ],
)
def test_a_watched_program(watch: dict[str, Any], status: str, words: str) -> None:
    s = watched(B, **watch)
    if watch.get("gpu_busy_percent") == 0.0:  # nor did any other program work there
        s = s.replace({"measured.loads": (load("watch", B, utilization_percent=0.0),)})
    got, reason, findings = run(ID, s)
    assert got == status and words in " ".join([reason, *(f.detail for f in findings)])
    for finding in findings:
        assert finding.title.startswith("python did not use the GPU")
        assert_every_fix_is_looked_at_again(s, finding)


@for_each(
    ("link", "others", "status"),
    [
        ({"pcie_rx_mb_s": 140.0}, 0, "pass"),
        ({"pcie_tx_mb_s": 140.0}, 0, "pass"),
        ({"pcie_rx_mb_s": 9000.0}, 2, "unknown"),
        ({"pcie_tx_mb_s": 103.0}, 1, "unknown"),
        ({"pcie_rx_mb_s": 60.0, "pcie_tx_mb_s": 60.0}, 0, "pass"),  # both directions together
        ({"pcie_rx_mb_s": 60.0, "pcie_tx_mb_s": 42.9}, 0, "warn"),  # 3 MB/s are an idle machine's
        ({"pcie_rx_mb_s": 60.0, "pcie_tx_mb_s": 43.0}, 0, "pass"),
        ({"pcie_rx_mb_s": Missing("denied"), "pcie_tx_mb_s": 110.0}, 0, "pass"),
        ({"nvlink_mb_s": 9000.0}, 0, "pass"),
        ({"nvlink_mb_s": 20.0}, 0, "warn"),
        ({"sm_activity_percent": 0.5}, 0, "pass"),
        ({"sm_activity_percent": 0.5}, 1, "unknown"),
        ({"sm_activity_percent": 0.004}, 1, "warn"),
        ({"utilization_percent": 60.0}, 1, "unknown"),
        ({"utilization_percent": 60.0}, 0, "unknown"),  # NVML counts none of it for this program
        ({"utilization_percent": 60.0}, Missing("denied"), "unknown"),
        ({"pcie_rx_mb_s": 60.0}, 1, "warn"),
        ({"pcie_rx_mb_s": Missing("denied"), "pcie_tx_mb_s": Missing("denied")}, 0, "warn"),
    ],
)
def test_a_gpu_whose_link_carries_data_is_never_called_unused(link: dict[str, Any], others: Any, status: str) -> None:
    """Where several programs use it, the traffic is nobody's in particular."""
    s = watched(B, gpu_busy_percent=0.0, gpu_idle_percent=100.0, others_on_gpu=others)
    quiet = {"utilization_percent": 0.0, "sm_activity_percent": 0.0, "pcie_rx_mb_s": 1.0, "pcie_tx_mb_s": 1.0}
    s = s.replace({"measured": replace(s.measured, loads=(load("watch", B, **{**quiet, **link}),))})
    assert run(ID, s)[0] == status


def test_a_watched_program_whose_torch_has_no_gpu() -> None:
    s = watched(B, with_other_build(machine(B)), uses_gpu=False)
    finding = run(ID, s)[2][0]
    assert "torch in this environment cannot use a GPU" in finding.detail and finding.fixes[0].id != "move-to-gpu"
    assert ids(s)[0] == "cpu-only-torch"


@for_each(("fault", "status", "code"), [("crash", "fail", 1), ("failed", "fail", 1), ("hang", "unknown", 3)])
def test_a_cpu_that_was_asked_for_and_did_not_compute_is_not_healthy(fault: str, status: str, code: int) -> None:
    broken = torch_proof(
        B, device="cpu", key="", right=Missing("error"), fault=fault, failed_step="matmul", error="signal 4"
    )
    s = without_gpu(healthy()).replace({"measured": without(device="cpu", driver=NOT_ASKED, torch=(broken,)).measured})
    finding = run(ID, s, ANY)[2][0]
    assert (finding.status, report(s, ANY).exit_code) == (
        status,
        code,
    ) and finding.detail == "The test stopped in matmul: signal 4."
    end = StepEnd(agent="torch_proof", step="import torch", fault="hang")
    unfinished = s.replace({"measured.torch": (), "measured.ended": (end,)})
    assert run(ID, unfinished, ANY)[0] == "unknown"
    (again,) = run(ID, unfinished.replace({"measured.interrupted": True}), ANY)[2][0].fixes[0].steps
    assert again.command == "gpudoctor prove --device cpu"  # time was not what was missing
    assert report(s.replace({"torch.version": ABSENT}), ANY).exit_code == 0  # torch-not-installed tells


@for_each(("visible", "command"), [("4,6", "export CUDA_VISIBLE_DEVICES=6"), ("GPU-a,GPU-b", "")])
def test_a_choice_of_gpus_is_narrowed_by_its_own_names(visible: str, command: str) -> None:
    torches = (torch_proof(B, right=Missing("timeout"), fault="hang"), torch_proof(B, device="cuda:1", key="GPU-two"))
    s = proven(
        B,
        machine(B, environment=(EnvVar("CUDA_VISIBLE_DEVICES", visible),)),
        torch=torches,
        torch_devices=("cuda:0", "cuda:1"),
        driver=NOT_ASKED,
    )
    fix = next(f for f in run(ID, s)[2] if f.facts["device"] == "cuda:0").fixes[0]
    assert (fix.id, fix.steps[0].command) == ("leave-gpu-out", command)
