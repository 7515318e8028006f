"""extension-lacks-gpu-arch: by bytes, per package, for every GPU."""

from __future__ import annotations

import re

from doctor.formats.fatbin import SASS
from doctor.formats.fatbin_summary import summarize
from doctor.formats.fatbin_support import supported
from doctor.snapshot import Missing
from doctor.snapshot.python import CodeEntry, CodeLibrary, CodeSection

from ..extensions import bitsandbytes, flash_attn, library, with_extension
from ..fixtures import wheels
from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each

ID = "extension-lacks-gpu-arch"


def test_without_extensions_it_does_not_apply() -> None:
    assert run(ID, healthy())[0] == "skipped"


@for_each("model", ["h100", "a100", "l4", "rtx3060", "rtx4090"])
def test_code_for_ampere_and_hopper_serves_ada_too(model: str) -> None:
    machine = with_extension(healthy(model), *flash_attn("8.0", "9.0"))
    assert run(ID, machine)[0] == "pass"
    assert ids(machine) == []


@for_each(("model", "fix"), [("t4", "remove-extension"), ("rtx5090", "build-extension")])
def test_another_generation_is_the_one_finding(model: str, fix: str) -> None:
    sick = with_extension(healthy(model), *flash_attn("8.0", "9.0"))
    assert ids(sick, status="fail") == [ID]
    finding = run(ID, sick)[2][0]
    assert finding.facts["sass"] == ["8.0", "9.0"]
    assert finding.fixes[0].id == fix
    assert_fix_works(sick, finding)


def test_ptx_is_enough() -> None:
    lib = library("flash-attn", "flash_attn_2_cuda.so", ("8.0",), ("8.0",))
    assert run(ID, with_extension(healthy("h100"), "flash-attn", "2.8.3", lib))[0] == "pass"


def test_kernels_of_one_generation_beside_general_ones() -> None:
    """FlashAttention 3 (9.0a) inside vllm need not run on an A100."""
    general = library("vllm", "vllm/_C.abi3.so", ("7.5", "8.0", "9.0"))
    hopper = library("vllm", "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so", ("9.0a",))
    machine = with_extension(healthy("a100"), "vllm", "0.11.0", hopper, general)
    assert run(ID, machine)[0] == "pass"
    assert run(ID, with_extension(healthy("v100"), "vllm", "0.11.0", hopper, general))[0] == "fail"


def test_only_the_bitsandbytes_library_of_torchs_cuda_counts() -> None:
    old, new = bitsandbytes("118", sass=("6.0", "7.0")), bitsandbytes("128")
    assert run(ID, with_extension(healthy("h100"), "bitsandbytes", "0.50.2", *old, *new))[0] == "pass"
    wrong = bitsandbytes("118") + bitsandbytes("128", sass=("6.0", "7.0"))
    assert run(ID, with_extension(healthy("h100"), "bitsandbytes", "0.50.2", *wrong))[0] == "fail"


def test_half_the_kernels_do_not_decide() -> None:
    lib = library("onnxruntime-gpu", "onnxruntime/capi/libonnxruntime_providers_cuda.so", ("9.0a",), sm80=5)
    status, reason, _ = run(ID, with_extension(healthy("a100"), "onnxruntime-gpu", "1.31.1", lib))
    assert (status, "50%" in reason) == ("unknown", True)


def test_a_few_special_kernels_are_no_support() -> None:
    lib = library("natten", "natten/libnatten.so", ("8.0",), sm90=1)
    assert run(ID, with_extension(healthy("h100"), "natten", "0.21.0", lib))[0] == "fail"


def test_what_compiles_at_run_time_or_is_for_some_gpus_is_not_judged() -> None:
    for name in ("torchao", "jax-cuda12-plugin", "flash-attn-3", "nvidia-nccl"):
        machine = with_extension(healthy("a100"), name, "1.0", library(name, "x.so", ("9.0a",)))
        assert run(ID, machine)[0] == "skipped"


def test_flash_attn_says_it_itself() -> None:
    sick = healthy("t4").replace(
        {"torch_run.kernel_error": "RuntimeError: FlashAttention only supports Ampere GPUs or newer."}
    )
    assert run(ID, sick)[0] == "fail"


@for_each("fact", ["python.extensions", "gpus"])
def test_unknown_without_the_deciding_fact(fact: str) -> None:
    sick = with_extension(healthy("t4"), *flash_attn()).replace({fact: Missing("denied")})
    if fact == "gpus":
        gone = {"driver.cuda_devices": Missing("denied"), "torch_run.device_capabilities": Missing("denied")}
        sick = sick.replace(gone)
    assert run(ID, sick)[0] == "unknown"


def test_a_wheel_whose_code_the_bytes_do_not_decide_is_unknown_never_sick() -> None:
    """vllm 0.33 as it was published: a part of `_C_stable_libtorch` is for 9.0a or PTX, and none of it is for Volta."""
    libraries = []
    for one in wheels.load("vllm-0.33.0-x86_64")["libraries"]:
        summary = summarize(wheels.in_memory(one))
        targets = supported(summary)
        sections = tuple(
            CodeSection(
                section=section.name,
                containers=section.kernel_containers,
                archs=tuple(
                    CodeEntry(
                        arch=count.target.arch + count.target.variant,
                        kind=count.target.kind.lower(),
                        entries=count.entries,
                        containers=count.containers,
                    )
                    for count in section.targets
                ),
            )
            for section in summary.sections
        )
        own = tuple(target.arch + target.variant for target in targets if target.kind == SASS)
        libraries.append(CodeLibrary(path=f"/opt/{one['name']}", package="vllm", sections=sections, sass=own))
    stable = [library for library in libraries if "/_C_stable" in library.path]
    found = {}
    for model in ("v100", "t4", "a100", "l4", "h100", "rtx5090"):
        status, reason, _ = run(ID, with_extension(healthy(model), "vllm", "0.33.0", *stable))
        found[model] = status
        assert all(int(share) <= 100 for share in re.findall(r"(\d+)%", reason)), reason
    wanted = {"v100": "fail", "t4": "unknown", "h100": "unknown"}
    moe = [library for library in libraries if "/_moe_C" in library.path]
    status, reason, _ = run(ID, with_extension(healthy("a100"), "vllm", "0.33.0", *moe))
    assert status == "unknown" and "at most 100%" in reason, "a container may hold two kinds of code that run"
    assert found == {model: wanted.get(model, "pass") for model in found}
