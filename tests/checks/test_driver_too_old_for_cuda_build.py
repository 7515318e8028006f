"""driver-too-old-for-cuda-build: majors decide, minor versions do not, and what works is not called broken."""

from __future__ import annotations

from doctor.snapshot import ABSENT, CompatLibrary, Missing, Snapshot
from doctor.text import read
from doctor.text.enrich import with_capabilities

from ..healthy import healthy
from ..judging import assert_fix_works, ids, matrix, run
from ..rows import for_each
from ..torches import not_asked, unusable, with_torch

ID = "driver-too-old-for-cuda-build"
TOO_OLD = "The NVIDIA driver on your system is too old (found version 12020)"


def cuda_13_on_535(model: str = "a100", container: bool = False) -> Snapshot:
    """torch 2.11 with CUDA 13.0 on driver 535: the first call answers 35."""
    machine = healthy(model, driver="535.129.03", cuda="12.2", container=container)
    return unusable(with_torch(machine, "2.11.0", "cu130"), 35, TOO_OLD)


@for_each(
    ("driver", "cuda"), [("525.60.13", "12.0"), ("535.129.03", "12.2"), ("550.54.15", "12.4"), ("570.86.15", "12.8")]
)
def test_a_cuda_12_8_build_is_healthy_on_branches_525_to_570(driver: str, cuda: str) -> None:
    machine = healthy("a100", driver=driver, cuda=cuda)
    for asked in (machine, not_asked(machine)):
        assert run(ID, asked)[0] == "pass"
        assert "warn" not in {f.status for f in run(ID, asked)[2]}


def test_minor_version_compatibility_is_a_remark() -> None:
    findings = run(ID, healthy("a100", driver="535.129.03", cuda="12.2"))[2]
    assert [(f.status, f.severity) for f in findings] == [("pass", "info")]


@for_each("container", [False, True])
def test_cuda_13_on_driver_535_fails_and_the_first_fix_is_another_build(container: bool) -> None:
    sick = cuda_13_on_535(container=container)
    assert ids(sick, status="fail")[0] == ID
    finding = run(ID, sick)[2][0]
    assert finding.facts["needed_driver"].startswith("580")
    assert finding.fixes[0].possible_here
    assert "cu129" in finding.fixes[0].steps[-1].command
    assert_fix_works(sick, finding)


def test_forward_compatibility_is_offered_on_data_center_gpus_only() -> None:
    offered = {model: [f.id for f in run(ID, cuda_13_on_535(model))[2][0].fixes] for model in ("a100", "rtx4090")}
    assert "use-forward-compatibility" in offered["a100"]
    assert "use-forward-compatibility" not in offered["rtx4090"]


def test_forward_compatibility_is_not_offered_for_a_gpu_that_the_kernel_driver_is_too_old_for() -> None:
    """470 drives an A100; no libcuda makes it drive an H100."""
    offered = {}
    for model in ("a100", "h100"):
        sick = not_asked(with_torch(healthy(model, driver="470.256.02", cuda="11.4"), "2.1.0", "cu121"))
        offered[model] = [f.id for f in run(ID, sick)[2][0].fixes]
    assert "use-forward-compatibility" in offered["a100"]
    assert "use-forward-compatibility" not in offered["h100"] and "install-driver" in offered["h100"]


def test_each_fix_of_it_works() -> None:
    from msgspec.structs import replace

    sick = cuda_13_on_535()
    finding = run(ID, sick)[2][0]
    for fix in finding.fixes:
        assert_fix_works(sick, replace(finding, fixes=(fix,)))


def test_a_loaded_compat_libcuda_serves() -> None:
    path = "/usr/local/cuda-13.0/compat/libcuda.so.1"
    compat = CompatLibrary(path=path, version="580.82.07", cuda_version="13.0", loads=True)
    well = not_asked(cuda_13_on_535()).replace(
        {"container.compat": (compat,), "driver.libcuda_path": path, "driver.cuda_version": "13.0"}
    )
    assert run(ID, well)[0] == "pass"


def test_what_works_beats_the_table() -> None:
    well = cuda_13_on_535().replace({"torch_run.cuda_available": True})
    assert run(ID, well)[0] == "pass"


def test_an_unknown_cuda_is_unknown() -> None:
    future = not_asked(cuda_13_on_535()).replace({"torch.cuda": "15.0"})
    status, reason, _ = run(ID, future)
    assert (status, "newer than this matrix" in reason) == ("unknown", True)


def test_without_a_driver_version_the_reported_cuda_decides_between_majors() -> None:
    gone = dict.fromkeys(("driver.kernel_version", "driver.nvml_driver_version"), ABSENT)
    assert run(ID, cuda_13_on_535().replace(gone))[0] == "fail"
    assert run(ID, healthy("a100", cuda="12.2").replace(gone))[0] == "pass"


def test_unknown_without_driver_facts() -> None:
    names = ("kernel_version", "nvml_driver_version", "cuda_version", "nvml_cuda_version")
    sick = cuda_13_on_535().replace({f"driver.{name}": Missing("denied") for name in names})
    assert run(ID, sick)[0] == "unknown"


def test_wsl_carries_windows_numbers() -> None:
    """Windows driver 566 is branch 565: fine for CUDA 12.8, too old for 13."""
    wsl = {"host.wsl": 2, "driver.kernel_version": ABSENT, "driver.nvml_driver_version": "566.36"}
    assert run(ID, healthy("rtx4090", driver="566.36", cuda="12.7").replace(wsl))[0] == "pass"
    assert run(ID, cuda_13_on_535("rtx4090").replace(wsl))[0] == "fail"


@for_each(
    ("system", "gpu", "newer"),
    [
        ("Ubuntu 22.04", "GeForce GTX 770", False),
        ("Windows 10", "GeForce GTX 770", False),
        ("Ubuntu 22.04", "GeForce GTX 1080", True),
        ("Windows 10", "GeForce GTX 1080", True),
    ],
)
def test_a_newer_driver_is_not_offered_where_it_drops_the_gpu(system: str, gpu: str, newer: bool) -> None:
    text = f"OS: {system}\nGPU: {gpu}\ntorch 2.6.0+cu124\ndriver 470.256.02\nis_available: False\n"
    status, _, findings = run(ID, with_capabilities(read(text), matrix()))
    fixes = {fix.id for fix in findings[0].fixes}
    assert status == "fail" and fixes
    assert bool(fixes & {"install-driver", "update-windows-driver"}) is newer
