"""CUDA wheels of several versions: what breaks torch, and what merely lies around."""

from __future__ import annotations

from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import SITE, import_fails, with_version

ID = "torch-import-broken"
NVJITLINK = (
    f"ImportError: {SITE}/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: "
    "__nvJitLinkAddData_12_1, version libnvJitLink.so.12"
)


def test_an_nvjitlink_wheel_older_than_cusparse_is_the_cause() -> None:
    sick = import_fails(with_version(healthy(), nvidia_nvjitlink_cu12="12.4.127"), NVJITLINK)
    assert ids(sick) == ["mixed-cuda-wheels", ID]
    assert_fix_works(sick, run("mixed-cuda-wheels", sick)[2][0])


def test_two_nccl_wheels_in_one_folder() -> None:
    """Both write nvidia/nccl/lib/libnccl.so.2; the older one won."""
    both = with_version(healthy(), nvidia_nccl_cu11="2.14.3").replace({"torch.nccl_bundled": "2.14.3"})
    sick = import_fails(both, "ImportError: libtorch_cuda.so: undefined symbol: ncclCommResume")
    assert ids(sick) == ["mixed-cuda-wheels", ID]
    finding = run("mixed-cuda-wheels", sick)[2][0]
    assert "uninstall" in finding.fixes[0].steps[0].command
    assert "nvidia-nccl-cu12==2.27.3" in finding.fixes[0].steps[1].command
    assert_fix_works(sick, finding)


def test_two_nccl_wheels_that_work_are_a_warning() -> None:
    assert ids(with_version(healthy(), nvidia_nccl_cu11="2.21.5"), status="fail") == []
    assert ids(with_version(healthy(), nvidia_nccl_cu11="2.21.5")) == ["mixed-cuda-wheels"]


def test_left_over_wheels_with_folders_of_their_own_are_harmless() -> None:
    left_over = {
        "nvidia_cublas_cu11": "11.11.3.6",
        "nvidia_cuda_runtime_cu11": "11.8.89",
        "nvidia_cudnn_cu11": "8.7.0.84",
    }
    assert ids(with_version(healthy(), **left_over)) == []


def test_mixed_wheels_unknown() -> None:
    assert run("mixed-cuda-wheels", healthy().replace({"python.distributions": Missing("denied")}))[0] == "unknown"
