"""Combined faults: what makes another repair pointless comes first, and the plan does not repair what it replaces."""

from __future__ import annotations

from doctor.judge import load_all
from doctor.judge.plan import plan
from doctor.snapshot import Missing, Snapshot

from ..healthy import healthy
from ..judging import POLICY, assert_fix_works, matrix, report, run
from ..torches import import_fails, not_asked, with_torch, with_version

LACKS, DROPPED, DRIVER = "torch-lacks-new-gpu-sm", "torch-dropped-old-gpu-sm", "driver-too-old-for-cuda-build"


def steps(s: Snapshot) -> list[str]:
    return [planned.finding.id for planned in plan(s, matrix(), POLICY).fixes]


def no_code() -> Snapshot:
    return not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124"))


def without_library(s: Snapshot) -> Snapshot:
    error = "ImportError: libcublas.so.12: cannot open shared object file: No such file or directory"
    return import_fails(s, error).replace({"torch.missing_libraries": ("libcublas.so.12",)})


def test_no_libraries_for_a_torch_that_has_no_code_for_the_gpu() -> None:
    sick = without_library(no_code())
    found = [f for f in report(sick).findings if f.status == "fail"]
    assert found[0].id == LACKS and "bundled-cuda-libs-missing" in {f.id for f in found}
    assert all(f.downstream_of for f in found[1:]), [f.id for f in found if not f.downstream_of]
    assert steps(sick) == [LACKS]


def test_no_repair_of_a_cudnn_nccl_or_wheel_of_a_torch_that_goes() -> None:
    for harm in ({"nvidia_cudnn_cu13": "9.19.0.56"}, {"torchvision": "0.15.0"}, {"nvidia_cublas_cu12": "12.1.3.1"}):
        for start in (no_code(), not_asked(with_torch(healthy("v100"), "2.11.0", "cu130"))):
            sick = with_version(start, **harm)
            found = [f for f in report(sick).findings if f.status == "fail"]
            assert found[0].id in (LACKS, DROPPED), (harm, [f.id for f in found])
            assert steps(sick) == [found[0].id], harm


def test_code_for_the_gpu_comes_before_the_driver_for_that_torch() -> None:
    """A V100 with a CUDA 13 build on branch 550: no driver helps that torch, another build helps both."""
    for model, version, tag in (("v100", "2.11.0", "cu130"), ("gtx1080", "2.9.1", "cu130")):
        s = not_asked(with_torch(healthy(model, driver="550.163.01", cuda="12.4"), version, tag))
        blind = {"driver.cu_init": Missing("not-asked"), "driver.cuda_devices": Missing("not-asked")}
        sick = s.replace({**blind, "driver.kernel_flavour": "proprietary"})
        found = {f.id: f for f in report(sick).findings if f.status == "fail"}
        assert list(found)[:2] == [DROPPED, DRIVER] and found[DRIVER].downstream_of == (DROPPED,)
        own = run(DRIVER, sick)[2][0]
        assert [fix.id for fix in own.fixes] == ["install-torch"], "no driver, no compat"
        assert_fix_works(sick, found[DROPPED])
        assert steps(sick) == [DROPPED]


def test_the_driver_comes_before_the_libraries_of_a_torch_that_it_cannot_run() -> None:
    s = with_torch(healthy("h100", driver="550.163.01", cuda="12.4"), "2.11.0", "cu130")
    sick = without_library(s).replace(
        {"driver.cu_init": Missing("not-asked"), "driver.cuda_devices": Missing("not-asked")}
    )
    assert steps(sick)[0] == DRIVER and "bundled-cuda-libs-missing" not in steps(sick)


def test_no_check_explains_itself() -> None:
    """Causes of causes never lead back: else both would be folded under each other."""
    declared = {c.id: c.about.downstream_of for c in load_all()}
    for start in declared:
        seen, queue = set(), list(declared[start])
        while queue:
            cause = queue.pop()
            if cause not in seen:
                seen.add(cause)
                queue += declared.get(cause, ())
        assert start not in seen, start
