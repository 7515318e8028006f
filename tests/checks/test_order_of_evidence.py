"""Whether torch has code for a GPU: a kernel that ran, then torch's own list with the published build, then the bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from doctor.findings import Finding
from doctor.snapshot import ABSENT, Snapshot, TorchProof
from doctor.snapshot.python import CodeEntry, CodeLibrary, CodeSection

from ..cli.command import gpudoctor, save
from ..healthy import MODELS, gpu, healthy
from ..judging import assert_fix_works, report, run
from ..torches import no_kernel_image, not_asked, with_torch

LACKS, DROPPED = "torch-lacks-new-gpu-sm", "torch-dropped-old-gpu-sm"
MISREAD = ("5.0", "6.0", "7.0", "7.5", "8.0", "8.6")
"""What a reader of bytes once made of torch 2.5.1+cu124 and 2.6.0+cu124, which hold 9.0 too."""
NO_9 = tuple("sm_" + name.replace(".", "") for name in MISREAD)


def hopper(name: str, version: str, arm: bool = False) -> Snapshot:
    """A Hopper machine with a CUDA 12.4 build."""
    s = healthy("h100")
    board = replace(gpu("h100"), name=name)
    devices = tuple(replace(d, name=name) for d in s.driver.cuda_devices)  # type: ignore[union-attr]
    s = with_torch(s.replace({"gpus": (board,), "driver.cuda_devices": devices}), version, "cu124")
    return s.replace({"host.architecture": "aarch64"}) if arm else s


def misread(s: Snapshot, *sass: str) -> Snapshot:
    return s.replace({"torch.sass": sass or MISREAD})


def remarks(s: Snapshot) -> list[Finding]:
    return [f for f in report(s).remarks if f.id in (LACKS, DROPPED)]


def test_a_sound_hopper_whose_bytes_were_misread_passes_and_says_so(tmp_path: Path) -> None:
    """With torch asked and not asked, as facts and by the real command on the saved report."""
    for name, version, arm in (
        (MODELS["h100"]["name"], "2.5.1", False),
        ("NVIDIA H200", "2.6.0", False),
        ("NVIDIA GH200 480GB", "2.5.1", True),
        (MODELS["h100"]["name"], "2.6.0", False),
        ("NVIDIA H200", "2.5.1", False),
        ("NVIDIA GH200 480GB", "2.6.0", True),
    ):
        asked = misread(hopper(str(name), version, arm))
        for sick in (asked, not_asked(asked)):
            told = report(sick)
            where = f"{name} {version} {'asked' if sick is asked else 'not asked'}"
            assert (told.exit_code, [f.id for f in told.findings if f.status != "warn"]) == (0, []), where
            assert LACKS in {f.id for f in told.remarks} and run(LACKS, sick)[0] == "pass", where
            remark = next(f for f in told.remarks if f.id == LACKS)
            assert "machine code in torch's libraries" in remark.detail.casefold() and "9.0" in remark.detail, where
            assert "ran a kernel" in remark.detail if sick is asked else "libtorch_python.so" in remark.detail, where
    path = save(tmp_path, not_asked(misread(hopper("NVIDIA H100 80GB HBM3", "2.6.0"))))
    done = gpudoctor("check", "--from", path, "--format", "json")
    told_again: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 0 and not [f for f in told_again["findings"] if f["status"] != "warn"]
    assert [f["id"] for f in told_again["remarks"] if f["id"] == LACKS]


def test_whole_truth_needs_no_remark() -> None:
    for version in ("2.5.1", "2.6.0"):
        assert remarks(hopper("NVIDIA H100 80GB HBM3", version)) == []


def test_list_and_published_build_that_differ_are_unknown() -> None:
    """torch rebuilt under the published name, or a wrong row: nobody knows, and the verdict says so."""
    s = not_asked(hopper("NVIDIA H100 80GB HBM3", "2.6.0"))
    for sass in (MISREAD, (*MISREAD, "9.0")):
        sick = misread(s, *sass).replace({"torch.arch_text": NO_9})
        status, reason, said = run(LACKS, sick)
        assert (status, said) == ("unknown", []) and "2.6.0+cu124" in reason and "libtorch_python.so" in reason
        assert report(sick).exit_code == 3
    ran = misread(hopper("NVIDIA H100 80GB HBM3", "2.6.0")).replace({"torch_run.arch_list": NO_9})
    assert run(LACKS, ran)[0] == "pass" and report(ran).exit_code == 0


def test_list_and_published_build_that_lack_it_beat_the_bytes() -> None:
    """The stronger witnesses decide in both directions; who says otherwise is told."""
    sick = not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124")).replace(
        {"torch.sass": (*MISREAD, "9.0", "12.0")}
    )
    status, _, said = run(LACKS, sick)
    assert status == "fail" and "12.0 runs 12.0 code" in said[0].detail
    assert_fix_works(sick, said[0])


def test_a_torch_built_from_source_is_judged_by_its_list_and_bytes() -> None:
    """No published build: its own list that has the code stands; bytes that have what the list lacks are doubtful."""
    built = not_asked(healthy("h100")).replace({"torch.version": "2.7.0a0+gitabc1234"})
    listed = built.replace({"torch.arch_text": ("sm_80", "sm_90"), "torch.sass": ("8.0",)})
    assert run(LACKS, listed)[0] == "pass" and remarks(listed)
    held = built.replace({"torch.arch_text": ("sm_80",), "torch.sass": ("8.0", "9.0")})
    assert run(LACKS, held)[0] == "unknown" and report(held).exit_code == 3
    neither = built.replace({"torch.arch_text": ("sm_80",), "torch.sass": ("8.0",)})
    assert run(LACKS, neither)[0] == "fail"


def test_bytes_alone_decide_where_nearly_all_or_few_kernels_have_the_code() -> None:
    """A build from source without a list: of its containers some have code for 9.0, which is not in `torch.sass`."""
    built = not_asked(healthy("h100")).replace({"torch.version": "2.7.0a0+gitabc1234", "torch.arch_text": ABSENT})
    for having, expected in ((0, "fail"), (14, "fail"), (21, "unknown"), (60, "unknown"), (89, "unknown")):
        archs = [CodeEntry(arch="8.0", kind="sass", entries=100, containers=100)]
        archs += [CodeEntry(arch="9.0", kind="sass", entries=having, containers=having)] if having else []
        section = CodeSection(section=".nv_fatbin", containers=100, archs=tuple(archs))
        library = CodeLibrary(
            path="/opt/torch/lib/libtorch_cuda.so", package="torch", sections=(section,), sass=("8.0",)
        )
        s = built.replace({"torch.sass": ("8.0",), "torch.ptx": (), "torch.libraries": (library,)})
        status, reason, _ = run(LACKS, s)
        assert status == expected, having
        assert expected == "fail" or (f"{having}%" in reason and report(s).exit_code != 1)
        refused = no_kernel_image(s)
        assert run(LACKS, refused)[0] == "fail", "CUDA says so itself"
    whole = built.replace({"torch.sass": ("8.0", "9.0"), "torch.ptx": ()})
    assert run(LACKS, whole)[0] == "pass"


def test_bytes_that_are_there_beat_the_table_and_bytes_that_are_not_leave_it_open() -> None:
    s = not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124")).replace({"torch.arch_text": ABSENT})
    assert run(LACKS, s)[0] == "fail"
    held = s.replace({"torch.sass": ("9.0", "12.0")})
    assert run(LACKS, held)[0] == "pass" and "published build" in remarks(held)[0].detail
    gone = not_asked(misread(hopper("NVIDIA H100 80GB HBM3", "2.6.0"))).replace({"torch.arch_text": ABSENT})
    assert run(LACKS, gone)[0] == "unknown"


def test_a_kernel_that_ran_beats_everybody() -> None:
    """By PTX, by code of the same major, or since all were read wrongly; on a new GPU and on an old one."""
    ran = with_torch(healthy("rtx5090"), "2.6.0", "cu124")
    assert run(LACKS, ran)[0] == "pass" and report(ran).exit_code == 0
    assert "torch ran a kernel on this GPU" in remarks(ran)[0].detail
    old = with_torch(healthy("gtx1080"), "2.8.0", "cu128")
    assert run(DROPPED, old)[0] == "pass" and [f.id for f in remarks(old)] == [DROPPED]
    s = not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124"))
    assert isinstance(s.gpus, tuple)
    proof = TorchProof(device="cuda:0", key=s.gpus[0].key, right=True, code="native")
    proven = s.replace({"measured.level": "proof", "measured.torch": (proof,)})
    assert run(LACKS, proven)[0] == "pass"
    wrong = s.replace({"measured.level": "proof", "measured.torch": (replace(proof, right=False),)})
    assert run(LACKS, wrong)[0] == "fail"


def test_no_kernel_image_beats_lists_that_have_it() -> None:
    """Where the bytes lack it too, that is the finding; where everybody has it, the files are damaged or others."""
    sick = no_kernel_image(misread(hopper("NVIDIA H100 80GB HBM3", "2.6.0")))
    status, _, said = run(LACKS, sick)
    assert status == "fail" and "says otherwise" in said[0].detail and "2.6.0+cu124" in said[0].detail
    whole = no_kernel_image(hopper("NVIDIA H100 80GB HBM3", "2.6.0"))
    assert run(LACKS, whole)[0] == "pass"
    status, _, said = run("gpu-path-not-available", whole)
    assert status == "fail" and "torch should have code for this GPU" in said[0].detail
    assert said[0].fixes[0].id == "reinstall-torch"


def test_no_kernel_image_is_of_the_device_that_says_so() -> None:
    s = with_torch(healthy("h100", "rtx5090"), "2.6.0", "cu124")
    error = "device 1: CUDA error: no kernel image is available for execution on the device"
    sick = s.replace({"torch_run.kernel_ran": False, "torch_run.kernel_error": error})
    assert isinstance(sick.gpus, tuple)
    assert [f.subject for f in run(LACKS, misread(sick))[2] if f.status == "fail"] == [sick.gpus[1].key]


def test_machine_code_that_was_used_beats_bytes_with_ptx_alone() -> None:
    s = not_asked(healthy("h100")).replace({"torch.sass": ("8.0",), "torch.ptx": ("9.0",)})
    s = s.replace({"torch.version": "2.7.0a0+gitabc1234", "torch.arch_text": ("sm_80", "compute_90")})
    assert run("torch-ptx-jit-only", s)[0] == "warn"
    assert isinstance(s.gpus, tuple)
    proof = TorchProof(device="cuda:0", key=s.gpus[0].key, right=True, code="native")
    seen = s.replace({"measured.level": "proof", "measured.torch": (proof,)})
    assert run("torch-ptx-jit-only", seen)[0] == "pass"
