"""wsl-version-without-gpu and wsl-linux-driver-installed."""

from __future__ import annotations

from doctor.findings import Expect, Policy
from doctor.snapshot import ABSENT, NOT_ASKED, DeviceNode, LibraryFile, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import cuda_says, not_installed, nvml_says, without_libcuda, without_nvml

VERSION, LINUX = "wsl-version-without-gpu", "wsl-linux-driver-installed"
DXG = DeviceNode(path="/dev/dxg", kind="dxg", mode=0o666, readable=True, writable=True, major=10, minor=125)
WINDOWS = LibraryFile(soname="libcuda.so.1", path="/usr/lib/wsl/lib/libcuda.so.1", found_by="ld.so.cache")


def wsl2() -> Snapshot:
    """A healthy WSL 2: the libraries of Windows, no kernel module, versions that differ."""
    return healthy("rtx4090", driver="580.88", cuda="13.0").replace(
        {
            "host.wsl": 2,
            "host.kernel": "6.6.87.1-microsoft-standard-WSL2",
            "driver.kernel_version": ABSENT,
            "driver.kernel_flavour": ABSENT,
            "driver.modules": (),
            "driver.proc_gpus": ABSENT,
            "driver.device_nodes": (DXG,),
            "driver.pci_devices": ABSENT,
            "driver.nvml_library_path": "/usr/lib/wsl/lib/libnvidia-ml.so.1",
            "driver.nvml_library_version": ABSENT,
            "driver.libcuda_path": "/usr/lib/wsl/drivers/nv_dispi.inf_amd64/libcuda.so.1.1",
            "driver.libcuda_version": "1.1",
            "driver.libcuda_candidates": (WINDOWS,),
        }
    )


def wsl1() -> Snapshot:
    return not_installed(healthy()).replace(
        {"host.wsl": 1, "host.kernel": "4.4.0-19041-Microsoft", "driver.pci_devices": ABSENT}
    )


def without_dxg() -> Snapshot:
    return without_nvml(without_libcuda(wsl2())).replace({"driver.device_nodes": (), "driver.libcuda_candidates": ()})


def without_windows_driver() -> Snapshot:
    return without_dxg().replace({"driver.device_nodes": (DXG,)})


def linux_driver() -> Snapshot:
    """nvidia-driver-550 inside WSL."""
    own = LibraryFile(
        soname="libcuda.so.1",
        path="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        version="550.163.01",
        real_path="/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01",
        found_by="ld.so.cache",
    )
    return nvml_says(cuda_says(wsl2(), 100), 9).replace(
        {
            "driver.libcuda_path": own.real_path,
            "driver.libcuda_version": "550.163.01",
            "driver.libcuda_candidates": (own, WINDOWS),
            "driver.nvml_library_path": "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.163.01",
            "driver.nvml_library_version": "550.163.01",
        }
    )


@for_each(
    ("check_id", "sick"),
    [(VERSION, wsl1()), (VERSION, without_dxg()), (VERSION, without_windows_driver()), (LINUX, linux_driver())],
)
def test_it_comes_first_and_can_be_mended(check_id: str, sick: Snapshot) -> None:
    assert ids(sick)[0] == check_id
    finding = run(check_id, sick)[2][0]
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_a_healthy_wsl_has_no_finding() -> None:
    assert ids(wsl2()) == []
    assert [run(i, wsl2())[0] for i in (VERSION, LINUX)] == ["pass", "pass"]


def test_linux_does_not_apply() -> None:
    assert [run(i, healthy())[0] for i in (VERSION, LINUX)] == ["skipped", "skipped"]


def test_no_gpu_is_a_remark_where_any_machine_will_do() -> None:
    for sick in (wsl1(), without_dxg()):
        assert run(VERSION, sick, Policy(expect=Expect(kind="any")))[0] == "pass"


def test_unknown_without_the_deciding_facts() -> None:
    assert [run(i, linux_driver().replace({"host.wsl": NOT_ASKED}))[0] for i in (VERSION, LINUX)] == ["unknown"] * 2
    assert run(VERSION, without_dxg().replace({"driver.device_nodes": Missing("denied")}))[0] == "unknown"
    blind = linux_driver().replace({"driver.libcuda_path": NOT_ASKED, "driver.nvml_library_path": NOT_ASKED})
    assert run(LINUX, blind)[0] == "unknown"
