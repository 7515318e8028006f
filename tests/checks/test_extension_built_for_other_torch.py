"""extension-built-for-other-torch: the wheel's tag, exact pins, bounds, the C++ ABI, and missing symbols."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from doctor.snapshot import Missing, Snapshot, TorchCaller
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


def calling(s: Snapshot, *missing: int, package: str = "flash-attn") -> Snapshot:
    """With a library for each number: how many functions that it calls are missing in torch."""
    return s.replace(
        {
            "torch.callers": tuple(
                TorchCaller(
                    path=f"/site/{package}_{n}.so",
                    package=package,
                    symbols=90,
                    missing=("_ZN3c10",)[:lost],
                    missing_count=lost,
                )
                for n, lost in enumerate(missing)
            )
        }
    )


@for_each(
    ("missing", "asked", "status"),
    [
        ((0,), True, "pass"),
        ((0, 0), False, "pass"),
        ((1,), False, "fail"),
        ((12, 1), False, "fail"),
        ((0, 1), False, "warn"),
        ((0, 1), True, "fail"),
    ],
)
def test_functions_that_torch_does_not_have(missing: tuple[int, ...], asked: bool, status: str) -> None:
    """The bytes decide where no tag or pin does; one library of several may be one that nobody loads."""
    sick = calling(with_extension(healthy(), *flash_attn()), *missing)
    policy = replace(POLICY, require=("flash-attn",) if asked else ())
    found = run(ID, sick, policy)
    assert found[0] == status
    if status == "pass":
        assert not found[2], "the functions were looked up: there is nothing left to try"
        return
    (finding,) = found[2]
    assert "_ZN3c10" in finding.detail and (finding.subject, finding.facts["symbol"]) == ("flash-attn", "_ZN3c10")
    assert_fix_works(sick, finding)


def test_the_functions_of_another_torch_are_looked_up_anew() -> None:
    """A fix that replaces torch leaves the old comparison open."""
    old = with_torch(healthy("rtx5090"), "2.6.0", "cu124")
    sick = calling(with_extension(no_kernel_image(old), *flash_attn()), 0)
    assert_fix_works(sick, run("torch-lacks-new-gpu-sm", sick)[2][0])
    for finding in run("torch-lacks-new-gpu-sm", sick)[2]:
        for step in finding.fixes[0].steps:
            if "torch.version" in step.changes:
                assert step.changes["torch.callers"] != sick.torch.callers


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


NEW_ABI = "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD_ABI = "_ZN3c105ErrorC1ENS_14SourceLocationESs"


@pytest.mark.torch_wheel
@for_each("symbol", [NEW_ABI, OLD_ABI])
def test_gpudoctor_and_the_loader_agree_on_a_required_package(with_torch: Path, tmp_path: Path, symbol: str) -> None:
    """One that no table knows, with torch's real libraries: what is called missing is what `import` stops at."""
    env = tmp_path / symbol
    shutil.copytree(with_torch, env, symlinks=True, copy_function=os.link)
    (site,) = env.glob("lib/python3*/site-packages")
    source = f'void f(void) __asm__("{symbol}");\nvoid *PyInit_my_ext(void) {{ f(); return 0; }}\n'
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(site / "my_ext.so")]
    subprocess.run(command, input=source, text=True, check=True)
    info = site / "my_ext-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-ext\nVersion: 1.0\nRequires-Dist: torch\n")
    (info / "RECORD").write_text(f"my_ext.so,sha256=x,{(site / 'my_ext.so').stat().st_size}\n")
    gpudoctor = [sys.executable, "-m", "doctor", "check", "--no-import", "--expect", "none", "--require", "my-ext"]
    options = ["--only", ID, "--format", "json", "--python", str(env)]
    report = json.loads(subprocess.run([*gpudoctor, *options], capture_output=True, text=True, check=False).stdout)
    loads = "import torch, os, ctypes; ctypes.CDLL(os.environ['LIBRARY'], mode=os.RTLD_NOW | os.RTLD_GLOBAL)"
    deep = f"import ctypes, glob, os\nfor n in ('c10', 'torch_cpu'): ctypes.CDLL(f'{site}/torch/lib/lib{{n}}.so', mode=os.RTLD_GLOBAL)\n"
    run_ = subprocess.run(
        [str(env / "bin" / "python"), "-c", deep + loads],
        env={**os.environ, "LIBRARY": str(site / "my_ext.so")},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [finding["facts"]["symbol"] for finding in report["findings"] if finding["id"] == ID]
    if symbol == NEW_ABI:
        assert found == [] and report["verdict"] == "pass" and run_.returncode == 0, run_.stderr
    else:
        assert found == [symbol] and report["verdict"] == "fail" and f"undefined symbol: {symbol}" in run_.stderr
