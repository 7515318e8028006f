"""What is judged with --building only: nvcc, its CUDA against torch's, the host compiler, the headers."""

from __future__ import annotations

from doctor.findings import Policy
from doctor.snapshot import ABSENT, Missing, Snapshot, Toolkit

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import env

MISSING, MISMATCH, COMPILER = "cuda-toolkit-missing", "nvcc-torch-cuda-mismatch", "nvcc-host-compiler-unsupported"
JIT = "jit-build-toolchain-missing"
BUILD = Policy(building=True, judged_on="2026-11-20")


def builder(nvcc: str = "12.8.93", gcc: str = "13") -> Snapshot:
    kit = Toolkit(path="/usr/local/cuda-x", version=nvcc, nvcc=nvcc)
    return healthy().replace(
        {
            "cuda.toolkits": (kit,),
            "cuda.nvcc_version": nvcc,
            "cuda.cuda_home": None,
            "cuda.gcc_version": gcc,
            "cuda.nvcc_on_path": "/usr/local/cuda-x/bin/nvcc",
            "cuda.c_compiler": "/usr/bin/gcc",
            "python.patient.headers": True,
        }
    )


@for_each("check", [MISSING, MISMATCH, COMPILER])
def test_only_with_building(check: str) -> None:
    assert run(check, healthy())[0] == "skipped"
    assert run(check, builder("11.8.89", "14"))[0] == "skipped"


def test_a_whole_toolchain_is_silent() -> None:
    assert ids(builder(), BUILD) == []
    for check in (MISSING, MISMATCH, COMPILER, JIT):
        assert run(check, builder(), BUILD)[0] == "pass"


def test_no_nvcc_is_the_one_finding() -> None:
    sick = builder().replace({"cuda.toolkits": (), "cuda.nvcc_version": ABSENT, "cuda.nvcc_on_path": None})
    assert ids(sick, BUILD) == [MISSING]
    finding = run(MISSING, sick, BUILD)[2][0]
    assert "cuda-toolkit-12-8" in finding.fixes[0].steps[0].command
    assert_fix_works(sick, finding, BUILD)


def test_a_toolkit_that_is_there_is_named_first() -> None:
    sick = builder().replace({"cuda.nvcc_version": ABSENT, "cuda.nvcc_on_path": None})
    finding = run(MISSING, sick, BUILD)[2][0]
    assert "CUDA_HOME=/usr/local/cuda-x" in finding.fixes[0].steps[0].command
    assert_fix_works(sick, finding, BUILD)


@for_each(("nvcc", "status"), [("12.8.93", "pass"), ("12.4.131", "pass"), ("11.8.89", "fail"), ("13.0.88", "fail")])
def test_nvcc_against_torch(nvcc: str, status: str) -> None:
    machine = builder(nvcc, "11")
    assert run(MISMATCH, machine, BUILD)[0] == status
    if status == "fail":
        assert ids(machine, BUILD) == [MISMATCH]
        assert_fix_works(machine, run(MISMATCH, machine, BUILD)[2][0], BUILD)


def test_another_minor_is_a_remark() -> None:
    assert [f.severity for f in run(MISMATCH, builder("12.4.131"), BUILD)[2]] == ["info"]


@for_each(("nvcc", "gcc", "status"), [("12.8.93", "14", "pass"), ("12.8.93", "15", "fail"), ("12.1.105", "13", "fail")])
def test_gcc_against_nvcc(nvcc: str, gcc: str, status: str) -> None:
    machine = builder(nvcc, gcc)
    assert run(COMPILER, machine, BUILD)[0] == status
    if status == "fail":
        assert ids(machine, BUILD) == [COMPILER]
        finding = run(COMPILER, machine, BUILD)[2][0]
        assert "export CC=gcc-" in finding.fixes[0].steps[0].command
        assert_fix_works(machine, finding, BUILD)
        assert run(COMPILER, env(machine, CC="/usr/bin/gcc-11"), BUILD)[0] == "pass"
        assert run(COMPILER, env(machine, CC="clang"), BUILD)[0] == "skipped"


def test_no_compiler_at_all() -> None:
    sick = builder().replace({"cuda.gcc_version": ABSENT, "cuda.c_compiler": None})
    assert run(COMPILER, sick, BUILD)[0] == "fail"
    assert_fix_works(sick, run(COMPILER, sick, BUILD)[2][0], BUILD)


def test_headers_are_needed_to_build() -> None:
    sick = builder().replace({"python.patient.headers": False})
    assert ids(sick, BUILD) == [JIT]
    assert_fix_works(sick, run(JIT, sick, BUILD)[2][0], BUILD)


@for_each("check", [MISSING, MISMATCH, COMPILER])
def test_unknown_without_the_deciding_fact(check: str) -> None:
    assert run(check, builder().replace({"cuda.nvcc_version": Missing("denied")}), BUILD)[0] == "unknown"


def test_a_toolkit_that_the_matrix_does_not_list() -> None:
    assert run(COMPILER, builder("99.0.1"), BUILD)[0] == "unknown"
