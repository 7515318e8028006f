"""Messages that decide alone, or with the one fact that their cause needs."""

from __future__ import annotations

from doctor.text import read

from ..judging import report
from ..rows import for_each

ERROR_500 = (
    "Error 500: named symbol not found",
    "failed call to cuInit: CUDA_ERROR_NOT_FOUND: named symbol not found",
    'Error: DriverError(CUDA_ERROR_NOT_FOUND, "named symbol not found")',
    "CUDA failure 500: named symbol not found ; GPU=-1 ; hostname=0ec3",
)
QP = "misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error {}"


def failing(text: str) -> list[str]:
    return [f.id for f in report(read(text)).findings if f.status == "fail"]


@for_each("line", ERROR_500)
@for_each(
    "place", ["Docker Desktop 4.29\n", "WSL2\n$ docker run --gpus all x\n", "OS: Windows 11\ncontainer: docker\n"]
)
def test_error_500_in_docker_on_windows_is_the_engine_s(place: str, line: str) -> None:
    found = report(read(place + line)).findings[0]
    assert (found.id, found.status) == ("engine-lacks-gpu-support", "fail")
    assert "update Docker Desktop" in found.fixes[0].steps[0].text and found.fixes[0].steps[0].where == "windows"


@for_each("line", ERROR_500)
def test_error_500_elsewhere_decides_nothing(line: str) -> None:
    assert failing(line) == [] and failing(f"OS: Ubuntu 22.04.4 LTS\n{line}") == []


@for_each("library", ["libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_cpp.so", "libtorch_cuda_cu.so"])
@for_each("package", ["", "torch-scatter 2.1.2\n", "torchaudio 2.6.0\n", "detectron2 0.6\n"])
def test_an_extension_of_cuda_on_a_torch_without_it(library: str, package: str) -> None:
    line = f"OSError: {library}: cannot open shared object file: No such file or directory"
    assert failing(f"torch 2.6.0+cpu\n{package}{line}")[0] == "cpu-only-torch"


@for_each(
    "line",
    [
        "RuntimeError: Cannot initialize CUDA without ATen_cuda library. PyTorch splits its backend into two",
        'TorchError { c_error: "Cannot initialize CUDA without ATen_cuda library." }',
        "what():  cannot initialize CUDA without ATen_cuda library (initCUDA at CUDAHooksInterface.h:42)",
    ],
)
def test_a_libtorch_without_its_cuda_part(line: str) -> None:
    assert failing(line) == ["cpu-only-torch"]


@for_each(
    "line",
    [
        '✖ Unsupported CUDA version "12.5"\nℹ Currently supported versions are: "11.7" and "11.8".',
        'Caused by error in `check_supported_version()`:\nx Unsupported CUDA version "10.2"',
        "Cuda 11.6 detected but torch only supports: cpu, 10.2, 11.3",
    ],
)
def test_r_s_torch_has_no_build_for_this_cuda(line: str) -> None:
    found = report(read(line)).findings[0]
    assert (found.id, found.status) == ("framework-build-without-gpu", "fail")
    assert "torch::install_torch" in found.fixes[0].steps[0].command


@for_each("error", ["Network is unreachable", "Connection timed out", "Invalid argument", "No such device"])
@for_each(
    "index",
    ["NCCL_IB_GID_INDEX=1\n", "export NCCL_IB_GID_INDEX=3\n", "NCCL INFO NCCL_IB_GID_INDEX set by environment to 1.\n"],
)
def test_a_gid_index_that_connects_nothing(index: str, error: str) -> None:
    found = report(read(index + QP.format(error))).findings[0]
    assert (found.id, found.status) == ("ranks-meet-on-wrong-interface", "fail")
    assert "unset NCCL_IB_GID_INDEX" in found.fixes[0].steps[0].command
    assert failing(QP.format(error)) == [], "without the variable the index may be right"
