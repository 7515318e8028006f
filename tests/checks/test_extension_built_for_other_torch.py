"""extension-built-for-other-torch: the wheel's tag, exact pins, bounds, the C++ ABI, and missing symbols."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.snapshot import Missing, Snapshot
from doctor.text import read

from ..extensions import flash_attn, with_extension
from ..healthy import healthy
from ..judging import POLICY, assert_fix_works, ids, report, run
from ..rows import for_each
from ..torches import import_fails, no_kernel_image, with_other_build, with_torch, with_version

ID = "extension-built-for-other-torch"


def wheel(tag: str, s: Snapshot | None = None) -> Snapshot:
    name = f"flash_attn-2.8.3+{tag}-cp311-cp311-linux_x86_64.whl"
    return with_extension(s or healthy(), *flash_attn(), wheel=name)


@for_each("tag", ["cu12torch2.8cxx11abiTRUE", "pt28cu128", "torch280cu128", "cu128", "torch210cu128"])
def test_a_wheel_for_this_torch_passes(tag: str) -> None:
    assert ids(wheel(tag)) == []


@for_each(
    "tag",
    ["cu12torch2.7cxx11abiTRUE", "cu12torch2.8cxx11abiFALSE", "pt27cu128", "torch240cu121", "cu11torch2.8cxx11abiTRUE"],
)
def test_another_torch_abi_or_cuda_in_the_wheels_tag_is_the_one_finding(tag: str) -> None:
    sick = wheel(tag)
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert (finding.status, finding.subject) == ("fail", "flash-attn")
    assert_fix_works(sick, finding)


def test_a_required_extension_that_names_no_torch_is_not_called_fit() -> None:
    """Built here, or a wheel that lost its tag: only an import shows it. Of one that was not asked for nothing is said."""
    bare, asked = with_extension(healthy(), *flash_attn()), replace(POLICY, require=("flash-attn",))
    (remark,) = run(ID, bare, asked)[2]
    assert (remark.status, remark.subject) == (
        "pass",
        "flash-attn",
    ) and "python3 -c 'import flash_attn'" in remark.detail
    assert run(ID, bare)[2] == [] and run(ID, wheel("cu12torch2.8cxx11abiTRUE"), asked)[2] == []
    assert run(ID, with_extension(healthy(), *flash_attn(), requires=("torch==2.8.0",)), asked)[2] == []
    only_python = with_extension(healthy(), "transformers", "4.57.0")
    assert run(ID, only_python, replace(POLICY, require=("transformers",)))[2] == []


def test_the_old_abi_of_torch_2_2() -> None:
    old = with_torch(healthy(), "2.2.0", "cu118").replace({"torch.cxx11_abi": False})
    local = with_extension(old, *flash_attn(version="2.5.5+cu118torch2.2cxx11abiTRUE"))
    assert run(ID, local)[0] == "fail"
    assert run(ID, with_extension(old, *flash_attn(version="2.5.5+cu118torch2.2cxx11abiFALSE")))[0] == "pass"


@for_each(
    ("requires", "status"),
    [
        (("torch==2.8.0", "numpy"), "pass"),
        (("torch (==2.8.0)",), "pass"),
        (("torch>=2.4,<3",), "pass"),
        (("torch==2.8.*",), "pass"),
        (("torch~=2.3",), "pass"),
        (("torch==2.7.1",), "fail"),
        (('torch==2.7.0; platform_system == "Linux"',), "fail"),
        (('torch==2.7.0; platform_system == "Windows"',), "pass"),
        (('torch==2.5.1; extra == "old"',), "pass"),
        (("torch==2.8.1",), "warn"),
        (("torch>=2.9",), "warn"),
        (("torchvision==0.9.0",), "pass"),
    ],
)
def test_metadata(requires: tuple[str, ...], status: str) -> None:
    machine = with_extension(healthy(), "vllm", "0.10.0", requires=requires)
    assert run(ID, machine)[0] == status
    if status != "pass":
        assert_fix_works(machine, run(ID, machine)[2][0])


def test_the_table_judges_xformers_where_its_metadata_was_not_read() -> None:
    assert run(ID, with_version(healthy(), xformers="0.0.23"))[0] == "fail"
    assert run(ID, with_version(healthy(), xformers="9.9.9"))[0] == "pass"


@for_each(("built", "status"), [("2.5.0+cu124", "pass"), ("2.4.1+cu121", "fail")])
def test_xformers_that_names_this_torch_was_built_for_it(built: str, status: str) -> None:
    s = read(f"xFormers 0.0.28\nbuild.torch_version:     {built}\npytorch.version:     2.5.0+cu124\n")
    assert next(c.status for c in report(s).checks if c.id == ID) == status


def test_a_missing_symbol_names_the_extension() -> None:
    error = (
        "ImportError: /usr/lib/python3/dist-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: "
        "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char"
    )
    sick = import_fails(healthy(), error)
    assert run(ID, sick)[2][0].subject == "flash-attn"
    assert run(ID, import_fails(healthy(), error.replace("flash_attn_2_cuda", "libtorch_cuda")))[0] == "pass"


@for_each("facts", [{"torch.version": "2.8.0a0+34c6371d24.nv25.8"}, {"torch.version": "2.9.0.dev20250801+cu128"}])
def test_vendor_and_nightly_torches_are_not_judged_by_numbers(facts: dict[str, Any]) -> None:
    machine = with_extension(healthy(), "vllm", "0.10.0", requires=("torch==2.7.1",)).replace(facts)
    assert run(ID, machine)[0] == "pass"


def test_a_cpu_torch_is_the_cause() -> None:
    sick = with_other_build(with_extension(healthy(), "vllm", "0.10.0", requires=("torch==2.7.1",)))
    assert ids(sick)[0] == "cpu-only-torch"


def test_unknown_without_the_list() -> None:
    assert run(ID, healthy().replace({"python.distributions": Missing("denied")}))[0] == "unknown"


def test_a_fix_that_replaces_torch_installs_again_what_was_built_against_it() -> None:
    """An RTX 5090 needs a newer torch than vllm's pin: the plan names vllm too, and nothing is left broken."""
    old = with_torch(healthy("rtx5090"), "2.6.0", "cu124")
    sick = with_extension(no_kernel_image(old), "vllm", "0.8.5.post1", requires=("torch==2.6.0",))
    assert run(ID, sick)[0] == "pass"
    finding = run("torch-lacks-new-gpu-sm", sick)[2][0]
    assert "vllm" in finding.fixes[0].steps[-1].command
    assert_fix_works(sick, finding)
