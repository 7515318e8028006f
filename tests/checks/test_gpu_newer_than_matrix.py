"""A GPU that the matrix does not list: what CUDA says of it decides, and no other program is blamed for it."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Finding
from doctor.snapshot import Snapshot, known
from doctor.text import excerpt, read

from ..healthy import healthy
from ..judging import assert_fix_works, report, run
from ..rows import for_each
from ..torches import no_kernel_image, not_asked, with_other_build, with_torch, with_version, without_torch

ID = "torch-lacks-new-gpu-sm"
HARM = ("other programs", "reboot", "restart")


def newer(s: Snapshot, capability: str = "15.0", name: str = "NVIDIA GeForce RTX 7090", index: int = 0) -> Snapshot:
    """Its GPU of this index is of a capability that no row of the matrix has."""
    gpus, devices = known(s.gpus) or (), known(s.driver.cuda_devices) or ()
    seen = known(s.torch_run.device_capabilities) or ()
    return s.replace(
        {
            "gpus": tuple(
                replace(g, name=name, compute_capability=capability, pci_device_id="3f85") if g.index == index else g
                for g in gpus
            ),
            "driver.cuda_devices": tuple(
                replace(d, name=name, compute_capability=capability) if d.ordinal == index else d for d in devices
            ),
            "torch_run.device_capabilities": tuple(capability if i == index else cc for i, cc in enumerate(seen)),
        }
    )


def newer_driver(s: Snapshot) -> Snapshot:
    names = ("kernel_version", "nvml_driver_version", "nvml_library_version", "libcuda_version")
    return s.replace({f"driver.{name}": "640.10" for name in names})


def words(findings: list[Finding] | tuple[Finding, ...]) -> str:
    """All that the fixes say."""
    return " ".join(f"{x.title} {t.text} {t.command}" for f in findings for x in f.fixes for t in x.steps)


SICK = {
    "a new generation": no_kernel_image(newer(healthy("rtx5090"))),
    "a name that nobody knows": no_kernel_image(newer(healthy("h100"), name="NVIDIA Graphics Device")),
    "driver and GPU newer": newer_driver(no_kernel_image(newer(healthy("rtx5090")))),
    "of a known family": no_kernel_image(newer(healthy("rtx5090"), "12.9")),
    "an old build": no_kernel_image(newer(with_torch(healthy("h100"), "2.6.0", "cu124"))),
}


@for_each("name", list(SICK))
def test_no_kernel_image_is_the_torch_that_has_no_code(name: str) -> None:
    s = SICK[name]
    judged = report(s)
    first = judged.findings[0]
    sm = f"sm_{known(known(s.gpus)[0].compute_capability).replace('.', '')}"  # type: ignore[index, union-attr]
    assert (first.id, first.status) == (ID, "fail")
    assert f"no code for {sm}" in first.detail and "its newest is sm_" in first.detail and "libraries" in first.detail
    assert "newer torch" in words([first]) and "matrix lists no such build" in words([first])
    assert not [word for word in HARM if word in words(judged.findings)], words(judged.findings)
    assert_fix_works(s, first)


def test_without_the_message_nobody_knows() -> None:
    s = not_asked(newer(healthy("rtx5090")))
    status, reason, findings = run(ID, s)
    assert (status, findings) == ("unknown", []) and "15.0 is not listed" in reason


def test_a_kernel_that_ran_is_no_failure() -> None:
    """PTX that the driver compiles for it reaches every newer GPU; so does what only the GPU itself shows."""
    for s in (newer(healthy("rtx5090")), newer(healthy("rtx5090")).replace({"torch.ptx": ("12.0",)})):
        assert not [f for f in report(s).findings if f.status == "fail"]


@for_each("check", ["triton-lacks-gpu-arch", "nvrtc-lacks-gpu-arch"])
def test_compilers_do_not_pass_for_a_gpu_that_nobody_knows(check: str) -> None:
    s = with_version(healthy("rtx5090"), triton="3.5.0")
    assert run(check, s)[0] == "pass"
    assert run(check, newer(s))[0] == "unknown"


@for_each("kind", ["cpu", "none"])
def test_without_a_cuda_build_the_fix_is_the_same(kind: str) -> None:
    s = newer(healthy("rtx5090"))
    s = with_other_build(s) if kind == "cpu" else without_torch(s)
    found = [f for f in report(s).findings if f.id in ("cpu-only-torch", "torch-not-installed")]
    assert found and "matrix lists no such build" in words(found)


def test_beside_a_gpu_that_torch_supports_the_new_one_is_left_out_first() -> None:
    s = newer(healthy("h100", "rtx5090"), index=1)
    s = no_kernel_image(s)
    finding = next(f for f in report(s).findings if f.id == ID)
    assert [fix.id for fix in finding.fixes] == ["leave-gpu-out", "newer-torch"]


def test_a_text_says_the_same() -> None:
    text = (
        "NVIDIA GeForce RTX 7090 with CUDA capability sm_150 is not compatible with the current PyTorch installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_75 sm_80 sm_86 sm_90 sm_100 sm_120.\n"
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    )
    found = report(read(excerpt(text.encode()), "argument")).findings
    assert found[0].id == ID and "matrix lists no such build" in words(found)
