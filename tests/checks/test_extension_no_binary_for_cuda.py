"""extension-no-binary-for-cuda: bitsandbytes by its libraries' names, others by the runtime that they need."""

from __future__ import annotations

from doctor.snapshot import LoaderLibrary, Missing

from ..extensions import TORCH_CUDA, bitsandbytes, library, with_extension
from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import env

ID = "extension-no-binary-for-cuda"


@for_each(
    ("version", "held", "status"),
    [
        ("0.45.5", ("118", "124", "128"), "pass"),
        ("0.43.3", ("118", "121", "125"), "fail"),  # torch has 12.8
        ("0.49.2", ("126", "129"), "fail"),
        ("0.50.2", ("118", "124", "126"), "pass"),  # takes the nearest of its major
        ("0.50.2", ("129",), "pass"),
        ("0.50.2", ("118", "130"), "fail"),
    ],
)
def test_bitsandbytes(version: str, held: tuple[str, ...], status: str) -> None:
    machine = with_extension(healthy(), "bitsandbytes", version, *bitsandbytes(*held))
    assert run(ID, machine)[0] == status
    assert ids(machine) == ([ID] if status == "fail" else [])
    if status == "fail":
        assert_fix_works(machine, run(ID, machine)[2][0])


def test_the_variable_that_names_another_library() -> None:
    machine = with_extension(healthy(), "bitsandbytes", "0.49.2", *bitsandbytes("121", "128"))
    assert run(ID, env(machine, BNB_CUDA_VERSION="121"))[0] == "pass"
    sick = env(machine, BNB_CUDA_VERSION="117")
    finding = run(ID, sick)[2][0]
    assert "unset BNB_CUDA_VERSION" in finding.fixes[0].steps[0].command
    assert_fix_works(sick, finding)


def test_another_cuda_runtime() -> None:
    old = library("natten", "natten/libnatten.so", ("9.0",), needed=(*TORCH_CUDA, "libcudart.so.11.0"))
    sick = with_extension(healthy(), "natten", "0.17.1", old)
    assert ids(sick) == [ID]
    assert_fix_works(sick, run(ID, sick)[2][0])
    found = LoaderLibrary(
        name="libcudart",
        soname="libcudart.so.11.0",
        path="/usr/local/cuda-11.8/lib64/libcudart.so.11.0",
        found_by="ld.so.cache",
    )
    assert run(ID, sick.replace({"cuda.libraries": (found,)}))[0] == "warn"


def test_what_does_not_link_torch_brings_its_own_runtime() -> None:
    lib = library(
        "onnxruntime-gpu", "onnxruntime/capi/libonnxruntime_providers_cuda.so", ("9.0",), needed=("libcudart.so.13",)
    )
    assert run(ID, with_extension(healthy(), "onnxruntime-gpu", "1.31.1", lib))[0] == "pass"


def test_bitsandbytes_says_it_itself() -> None:
    words = "Required library version not found: libbitsandbytes_cuda124_nocublaslt.so"
    assert run(ID, healthy().replace({"torch_run.warnings": (words,)}))[0] == "fail"


def test_unknown_without_the_libraries() -> None:
    assert run(ID, healthy().replace({"python.extensions": Missing("denied")}))[0] == "unknown"
