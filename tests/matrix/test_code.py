"""Machine code against GPUs: same major, minor not lower, the exceptions, a and f targets, PTX."""

from __future__ import annotations

from compat_matrix import Matrix
from compat_matrix.versions import arch

from ..rows import for_each

SASS = [
    ("8.9", ["8.6"], "sass", "8.6"),
    ("8.9", ["8.0", "9.0"], "sass", "8.0"),
    ("8.6", ["8.9"], "none", ""),
    ("8.0", ["8.6"], "none", ""),
    ("7.5", ["7.0"], "sass", "7.0"),
    ("7.0", ["7.5"], "none", ""),
    ("9.0", ["8.0", "8.6"], "none", ""),
    ("12.0", ["9.0"], "none", ""),
    ("12.0", ["10.0"], "none", ""),
    ("12.1", ["12.0"], "sass", "12.0"),
    ("12.0", ["12.1"], "none", ""),
    ("10.3", ["10.0"], "sass", "10.0"),
    ("10.0", ["10.3"], "none", ""),
    ("10.7", ["10.0"], "unknown", ""),
    ("6.1", ["6.0"], "sass", "6.0"),
    ("5.2", ["5.0"], "sass", "5.0"),
    ("3.7", ["3.5"], "sass", "3.5"),
    ("3.5", ["3.7"], "none", ""),
    # Jetson class
    ("5.3", ["5.0", "5.2"], "none", ""),
    ("6.2", ["6.0", "6.1"], "none", ""),
    ("3.2", ["3.0"], "none", ""),
    ("10.1", ["11.0"], "unknown", ""),
    ("8.8", ["8.0"], "unknown", ""),
    ("8.7", ["8.7"], "sass", "8.7"),
    ("11.0", ["10.1"], "sass", "10.1"),
    ("11.0", ["10.0"], "none", ""),
    ("10.1", ["10.0"], "none", ""),
    # variants
    ("9.0", ["9.0a"], "sass", "9.0a"),
    ("10.3", ["10.0a"], "none", ""),
    ("10.3", ["10.0f"], "sass", "10.0f"),
    ("10.0", ["10.3f"], "none", ""),
    ("12.1", ["12.0f"], "sass", "12.0f"),
    ("12.1", ["12.0a"], "none", ""),
    ("12.0", ["10.0f"], "none", ""),
    # spelling
    ("8.6", ["sm_80"], "sass", "8.0"),
    ("10.0", ["sm_100a"], "sass", "10.0a"),
    ("8.9", ["8.0", "8.6", "8.9"], "sass", "8.9"),
    # nothing known
    ("8.6", [], "unknown", ""),
    ("8.6", ["rubbish"], "unknown", ""),
    ("rubbish", ["8.6"], "unknown", ""),
    ("13.0", ["12.0"], "unknown", ""),
    ("12.3", ["12.0"], "unknown", ""),
]


@for_each(("device", "sass", "kind", "by"), SASS)
def test_sass(m: Matrix, device: str, sass: list[str], kind: str, by: str) -> None:
    answer = m.code_for_gpu(device, sass)
    assert (answer.kind, answer.by) == (kind, by)


def test_jetson_takes_desktop_code_from_cuda_13_2_on(m: Matrix) -> None:
    assert m.code_for_gpu("8.7", ["8.0"], build_cuda="13.0").kind == "none"
    assert m.code_for_gpu("8.7", ["8.0"], build_cuda="13.2").kind == "sass"
    assert m.code_for_gpu("8.7", ["8.0"]).kind == "unknown"
    assert m.code_for_gpu("7.2", ["7.0"], build_cuda="12.6").kind == "none"
    assert m.code_for_gpu("7.2", ["7.0"], build_cuda="13.2").kind == "sass"


PTX = [
    # device, ptx, driver's CUDA, build's CUDA, kind
    ("12.0", ["9.0"], "12.8", "12.4", "ptx-jit"),
    ("12.0", ["9.0"], None, None, "ptx-jit"),
    ("12.0", ["9.0"], "12.2", "12.4", "none"),
    ("9.0", ["8.0"], "12.2", None, "ptx-jit"),
    ("8.0", ["9.0"], "13.0", None, "none"),
    ("12.1", ["12.0"], "12.8", None, "ptx-jit"),
    ("12.1", ["12.0"], "12.4", None, "none"),
    ("10.3", ["10.0f"], "13.0", None, "ptx-jit"),
    ("12.0", ["10.0f"], "13.0", None, "none"),
    ("10.3", ["10.0a"], "13.0", None, "none"),
    ("12.0", ["compute_90"], "13.0", "12.6", "ptx-jit"),
    ("8.7", ["8.6"], "13.0", "12.6", "ptx-jit"),
    ("14.0", ["12.0"], "13.0", "12.8", "ptx-jit"),
]


@for_each(("device", "ptx", "driver_cuda", "build_cuda", "kind"), PTX)
def test_ptx(
    m: Matrix, device: str, ptx: list[str], driver_cuda: str | None, build_cuda: str | None, kind: str
) -> None:
    assert m.code_for_gpu(device, ["3.5"], ptx, driver_cuda, build_cuda).kind == kind


def test_ptx_that_the_driver_cannot_compile_says_so(m: Matrix) -> None:
    answer = m.code_for_gpu("12.0", ["9.0"], ["12.0"], "12.2")
    assert answer.kind == "none" and answer.ptx_needs_cuda == "12.8" and "12.2" in answer.reason


def test_sass_is_preferred_to_ptx(m: Matrix) -> None:
    assert m.code_for_gpu("12.0", ["12.0"], ["12.0"], "12.8").kind == "sass"


@for_each(
    ("text", "parts"),
    [
        ("8.6", (8, 6, "")),
        ("sm_90a", (9, 0, "a")),
        ("compute_120", (12, 0, "")),
        ("10.0f", (10, 0, "f")),
        ("sm_103f", (10, 3, "f")),
        ("75", (7, 5, "")),
    ],
)
def test_target_spelling(text: str, parts: tuple[int, int, str]) -> None:
    found = arch(text)
    assert found is not None and (found.major, found.minor, found.variant) == parts


@for_each("text", ["", "sm_", "8", "8.6b", "gfx90a", "sm_8.66", "8.6 8.9"])
def test_no_target(text: str) -> None:
    assert arch(text) is None


@for_each(
    ("capability", "architecture", "last_toolkit", "first_driver", "last_driver"),
    [
        ("3.5", "Kepler", "11.8", None, 470),
        ("3.0", "Kepler", "10.2", None, 470),
        ("5.2", "Maxwell", "12.9", None, 580),
        ("6.1", "Pascal", "12.9", None, 580),
        ("7.0", "Volta", "12.9", None, 580),
        ("7.5", "Turing", "", 410, None),
        ("8.0", "Ampere", "", 450, None),
        ("8.6", "Ampere", "", 455, None),
        ("8.9", "Ada", "", 520, None),
        ("9.0", "Hopper", "", 520, None),
        ("12.1", "Blackwell GB10 / RTX Spark", "", 580, None),
        ("10.1", "Blackwell SoC", "12.9", None, None),
    ],
)
def test_capability_rows(
    m: Matrix, capability: str, architecture: str, last_toolkit: str, first_driver: int | None, last_driver: int | None
) -> None:
    row = m.compute_capability(capability)
    assert row is not None
    assert (row.architecture, row.last_toolkit) == (architecture, last_toolkit)
    assert (row.first_driver, row.last_driver) == (first_driver, last_driver)
