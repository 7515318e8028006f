"""cuDNN, NCCL, toolkits and error codes."""

from __future__ import annotations

from compat_matrix import Matrix
from compat_matrix.libraries import cudnn_numbers

from ..rows import for_each


@for_each(
    ("version", "capability", "cuda_major", "grade"),
    [
        ("9.10.2.21", "7.0", 12, "ok"),
        ("9.11.0.98", "7.0", 12, "dropped"),
        ("91002", "5.0", 12, "ok"),
        ("91100", "6.1", None, "dropped"),
        ("9.19.0.56", "7.5", 13, "ok"),
        ("9.19.0.56", "7.0", 13, "dropped"),
        ("9.24.0.43", "12.1", 13, "ok"),
        ("8.9.7", "3.7", 12, "dropped"),
        ("8.7.0.84", "3.7", 11, "ok"),
        ("8907", "9.0", 12, "ok"),
        ("8.9.5", "12.0", 12, "unknown"),
        ("8.0.5", "8.6", 11, "ok"),
        ("8.0.5", "9.0", 11, "unknown"),
        ("8.3.2", "9.0", 11, "unknown"),
        ("8.4.1", "3.0", 11, "dropped"),
        ("8.4.1", "3.0", 10, "ok"),
        ("7.2.1", "7.0", 9, "unknown"),
        ("9.99.0", "9.0", 12, "unknown"),
        ("", "9.0", 12, "unknown"),
        ("9.10.2", "x", 12, "unknown"),
        ("9.10.2", "7.0", 13, "unknown"),
        ("7.6.4", "12.0", 9, "unknown"),
        ("8.7.0", "8.0", 10, "unknown"),
        ("9.10.2", "12.0", 11, "unknown"),
        ("9.10.2", "12.0", None, "ok"),
        ("8.9.7", "10.3", 12, "unknown"),
    ],
)
def test_cudnn_against_gpu(m: Matrix, version: str, capability: str, cuda_major: int | None, grade: str) -> None:
    assert m.cudnn_for_gpu(version, capability, cuda_major).grade == grade


def test_no_cudnn_supports_a_gpu_that_its_cuda_cannot_compile_for(m: Matrix) -> None:
    """Over all listed releases, CUDA versions and compute capabilities."""
    later = [
        (row.version, gpu.cc, major)
        for row in m.cudnn_rows
        for major in row.cuda_majors
        for gpu in m.capabilities
        if gpu.first_toolkit and int(gpu.first_toolkit.partition(".")[0]) > major
    ]
    assert len(later) > 100
    assert not [one for one in later if m.cudnn_for_gpu(*one).grade == "ok"]


@for_each(
    ("text", "numbers"),
    [("91002", (9, 10, 2)), ("8907", (8, 9, 7)), ("90100", (9, 1, 0)), ("9.10.2.21", (9, 10, 2)), ("x", ())],
)
def test_cudnn_integers(text: str, numbers: tuple[int, ...]) -> None:
    assert cudnn_numbers(text) == numbers


def test_cudnn_ranges_and_wheels(m: Matrix) -> None:
    inside, wheel = m.cudnn("7.6.5"), m.cudnn("9.10.2")
    assert inside is not None and inside.version == "7.6.4"
    assert wheel is not None and wheel.wheel_cu12 == "9.10.2.21" and wheel.cuda_majors == (11, 12)
    assert m.cudnn("6.0") is None


@for_each(
    ("version", "capability", "major", "grade"),
    [
        ("2.32.3", "7.0", 12, "ok"),
        ("2.32.3", "7.0", 13, "dropped"),
        ("2.32.3", "12.1", 13, "ok"),
        ("2.25.1", "12.0", 12, "unknown"),
        ("2.25.1.post1", "12.0", 12, "ok"),
        ("2.32.3", "5.2", 12, "dropped"),
        ("9.9.9", "8.0", 12, "unknown"),
    ],
)
def test_nccl_against_gpu(m: Matrix, version: str, capability: str, major: int, grade: str) -> None:
    assert m.nccl_for_gpu(version, capability, major).grade == grade


@for_each(
    ("version", "exact", "gcc", "ptx"),
    [
        ("12.8.1", "12.8.1", 14, "8.7"),
        ("12.4", "12.4.1", 13, "8.4"),
        ("11.8", "11.8.0", 11, "7.8"),
        ("13.5.0", "13.5.0", 16, "9.5"),
        ("11.4.0", "11.4.0", 10, "7.4"),
        ("11.4.1", "11.4.1", 11, "7.4"),
    ],
)
def test_toolkit(m: Matrix, version: str, exact: str, gcc: int, ptx: str) -> None:
    row = m.toolkit(version)
    assert row is not None and (row.version, row.host_gcc_max_major, row.ptx_isa) == (exact, gcc, ptx)


def test_targets_of_toolkits(m: Matrix) -> None:
    old, new = m.toolkit("12.9"), m.toolkit("13.0")
    assert old is not None and new is not None
    assert "7.0" in old.sm_targets and "12.1" in old.sm_targets
    assert "7.0" not in new.sm_targets and new.sm_targets[0] == "7.5"
    assert m.toolkit("42.0") is None and m.toolkit("") is None


def test_cuda_errors(m: Matrix) -> None:
    names = {100: "cudaErrorNoDevice", 804: "cudaErrorCompatNotSupportedOnDevice", 35: "cudaErrorInsufficientDriver"}
    for code, name in names.items():
        row = m.cuda_error(code)
        assert row is not None and row.runtime_name == name and m.cuda_error(name) == row
    driver = m.cuda_error("CUDA_ERROR_NO_BINARY_FOR_GPU")
    assert driver is not None and driver.code == 209
    assert m.cuda_error(123456) is None and m.cuda_error("") is None


def test_nvml_errors(m: Matrix) -> None:
    row = m.nvml_error(18)
    assert (
        row is not None and row.name == "NVML_ERROR_LIB_RM_VERSION_MISMATCH" and m.nvml_error(row.name.lower()) == row
    )
    assert m.nvml_error("None") is None and m.nvml_error(4242) is None
