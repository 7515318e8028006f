"""gpu-path-not-available: what is left where no other check names a reason."""

from __future__ import annotations

from doctor.findings import Expect, Policy
from doctor.snapshot import NOT_ASKED, Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..torches import import_fails, not_asked, unusable, with_other_build, with_torch
from .test_no_nvidia_gpu import without_gpu

ID = "gpu-path-not-available"


def test_a_torch_that_computes_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


def test_an_error_that_nobody_explains_is_told_with_its_meaning() -> None:
    sick = unusable(healthy(), 719, "CUDA error: unspecified launch failure")
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert "719" in finding.detail
    assert finding.facts["error"]
    assert_fix_works(sick, finding)


def test_a_wrong_answer_of_a_kernel_fails() -> None:
    sick = healthy().replace({"torch_run.kernel_ran": False, "torch_run.kernel_error": "wrong answer on device 0"})
    assert ids(sick) == [ID]
    assert "wrong answer" in run(ID, sick)[2][0].detail


def test_it_is_folded_under_a_cause() -> None:
    sick = unusable(with_torch(healthy("a100", driver="535.129.03", cuda="12.2"), "2.11.0", "cu130"), 35, "too old")
    found = report(sick).findings
    assert found[0].id == "driver-too-old-for-cuda-build"
    symptom = next(f for f in found if f.id == ID)
    assert "driver-too-old-for-cuda-build" in symptom.downstream_of


def test_not_judged_without_an_import_or_cuda() -> None:
    assert run(ID, import_fails(healthy(), "odd"))[0] == "skipped"
    assert run(ID, with_other_build(healthy()))[0] == "skipped"


def test_an_exception_without_a_code_fails() -> None:
    """`is_available()` asked NVML and is True; the first call of CUDA raises, and its text names no number."""
    error = "RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu."
    nothing = Missing("error", "CUDA did not initialize")
    sick = healthy().replace(
        {
            "torch_run.first_call_code": Missing("error", "torch's message contains no code"),
            "torch_run.first_call_error": error,
            "torch_run.kernel_ran": nothing,
            "torch_run.kernel_error": nothing,
        }
    )
    assert ids(sick) == [ID]
    assert "initialization failed" in run(ID, sick)[2][0].detail


@for_each("step", ["cuda_available", "first_call", "kernel"])
def test_a_crash_after_the_import_fails(step: str) -> None:
    died = Missing("error", f"crashed in {step}")
    names = ("cuda_available", "device_count", "first_call_code", "first_call_error", "kernel_ran", "kernel_error")
    lost = names[{"cuda_available": 0, "first_call": 2, "kernel": 4}[step] :]
    sick = healthy().replace({f"torch_run.{name}": died for name in lost})
    assert ids(sick) == [ID]
    assert step in run(ID, sick)[2][0].detail
    assert_fix_works(sick, run(ID, sick)[2][0])


def test_a_kernel_that_never_comes_back_is_unknown() -> None:
    gone = Missing("timeout", "kernel did not return")
    hung = healthy().replace({"torch_run.kernel_ran": gone, "torch_run.kernel_error": gone})
    status, _, said = run(ID, hung)
    assert status == "unknown" and "kernel did not return" in said[0].detail
    assert report(hung).exit_code == 3


def test_available_with_no_device_fails() -> None:
    sick = healthy().replace({"torch_run.device_count": 0, "torch_run.kernel_ran": NOT_ASKED})
    assert ids(sick) == [ID]


def test_a_pasted_report_that_only_says_available_passes() -> None:
    s = not_asked(healthy()).replace({"torch_run.imported": True, "torch_run.cuda_available": True})
    assert run(ID, s)[0] == "pass"


def test_a_cuda_build_on_a_machine_without_a_gpu_is_no_fault_where_none_is_expected() -> None:
    anything = Policy(expect=Expect(kind="any"), judged_on="2026-11-20")
    laptop = unusable(without_gpu(healthy()), 35, "Found no NVIDIA driver on your system.")
    assert ids(laptop, anything) == []
    assert run(ID, laptop, anything)[0] == "skipped"
    assert ID in ids(laptop)


def test_not_asked_is_unknown() -> None:
    assert run(ID, not_asked(healthy()))[0] == "unknown"
    assert run(ID, not_asked(healthy()).replace({"torch_run.imported": Missing("timeout")}))[0] == "unknown"
