"""Driver facts from files: kernel module, PCI bus, device nodes, libraries on the loader's path."""

from __future__ import annotations

import os

import pytest

from doctor.snapshot import Missing, PciDevice

from .tree import OPEN_DRIVER, PROPRIETARY_DRIVER, Tree


def test_loaded_driver(tree: Tree) -> None:
    tree.kernel().file("/proc/driver/nvidia/version", OPEN_DRIVER).folder("/proc/driver/nvidia/gpus/0000:65:00.0")
    for name in ("nvidia", "nvidia_uvm", "nvidia_drm"):
        tree.folder(f"/sys/module/{name}")
    tree.file("/sys/module/nvidia/version", "570.86.10\n").pci("0000:65:00.0", "10DE", "2330", driver="nvidia")
    driver = tree.look().driver
    assert (driver.kernel_version, driver.kernel_flavour, driver.version) == ("570.86.10", "open", "570.86.10")
    assert driver.modules == ("nvidia", "nvidia_uvm", "nvidia_drm")
    assert driver.nouveau_loaded is False
    assert driver.proc_gpus == 1
    assert driver.pci_devices == (
        PciDevice(
            address="0000:65:00.0",
            vendor="10de",
            device="2330",
            subsystem_vendor="10de",
            subsystem_device="16c1",
            class_code="030200",
            driver="nvidia",
        ),
    )


def test_proprietary_flavour(tree: Tree) -> None:
    driver = tree.kernel().file("/proc/driver/nvidia/version", PROPRIETARY_DRIVER).look().driver
    assert (driver.kernel_version, driver.kernel_flavour) == ("535.261.03", "proprietary")


def test_module_version_serves_where_proc_has_none(tree: Tree) -> None:
    driver = tree.kernel().file("/sys/module/nvidia/version", "550.54.14\n").look().driver
    assert driver.kernel_version == "550.54.14"
    assert isinstance(driver.kernel_flavour, Missing)


def test_garbled_version_is_an_error_and_not_absence(tree: Tree) -> None:
    driver = tree.kernel().file("/proc/driver/nvidia/version", "what\n").look().driver
    assert isinstance(driver.kernel_version, Missing) and driver.kernel_version.reason == "error"


def test_nouveau_and_a_card_that_another_driver_has(tree: Tree) -> None:
    tree.kernel().folder("/sys/module/nouveau").pci("0000:01:00.0", "10DE", "2684", sub="00", driver="vfio-pci")
    driver = tree.look().driver
    assert driver.nouveau_loaded is True
    assert not isinstance(driver.pci_devices, Missing)
    assert [d.driver for d in driver.pci_devices] == ["vfio-pci"]
    assert driver.kernel_version == Missing("absent")


def test_only_displays_and_nvidia_bridges_of_the_bus_are_kept(tree: Tree) -> None:
    tree.kernel().pci("0000:00:01.0", "1AF4", "1041", base="02", sub="00").pci("0000:00:02.0", "8086", "56C0", sub="80")
    tree.pci("0000:07:00.0", "10DE", "22A3", base="06", sub="80").pci(
        "0000:08:00.0", "10DE", "22BA", base="04", sub="03"
    )
    devices = tree.look().driver.pci_devices
    assert not isinstance(devices, Missing)
    assert [(d.vendor, d.class_code) for d in devices] == [("8086", "038000"), ("10de", "068000")]


def test_a_bus_without_displays_says_so(tree: Tree) -> None:
    tree.kernel().pci("0000:00:01.0", "1AF4", "1041", base="02", sub="00")
    assert tree.look().driver.pci_devices == ()


def test_gvisor_has_no_bus_and_that_proves_nothing(tree: Tree) -> None:
    tree.file("/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n").folder("/dev")
    snapshot = tree.look({})
    assert snapshot.container.kind == "gvisor"
    assert isinstance(snapshot.driver.pci_devices, Missing) and snapshot.driver.pci_devices.reason == "absent"
    assert isinstance(snapshot.driver.modules, Missing)
    tree.folder("/sys/bus/pci/devices")
    assert isinstance(tree.look().driver.pci_devices, Missing), "an empty list proves nothing either"


def test_device_nodes_in_dev_with_their_rights(tree: Tree) -> None:
    tree.kernel().file("/dev/nvidiactl").file("/dev/nvidia0").file("/dev/nvidia-caps/nvidia-cap1").file("/dev/null")
    os.chmod(tree.root / "dev/nvidia0", 0o600)
    nodes = tree.look().driver.device_nodes
    assert not isinstance(nodes, Missing)
    assert {(n.path, n.kind) for n in nodes} == {
        ("/dev/nvidia0", "gpu"),
        ("/dev/nvidiactl", "ctl"),
        ("/dev/nvidia-caps/nvidia-cap1", "caps"),
    }
    gpu = next(n for n in nodes if n.kind == "gpu")
    assert gpu.mode == 0o600 and gpu.character_device is False and gpu.readable is True


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make device nodes")
def test_real_device_node_numbers(tree: Tree) -> None:
    tree.kernel()
    try:
        os.mknod(tree.root / "dev/nvidia-uvm", 0o020660, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no right to make device nodes here")
    nodes = tree.look().driver.device_nodes
    assert not isinstance(nodes, Missing)
    assert (nodes[0].kind, nodes[0].character_device, nodes[0].major, nodes[0].minor) == ("uvm", True, 1, 3)


def test_no_nodes_is_an_answer(tree: Tree) -> None:
    assert tree.kernel().look().driver.device_nodes == ()


def test_loader_order_and_stub(tree: Tree) -> None:
    tree.file("/opt/cuda/lib64/stubs/libcuda.so", "x").link("/opt/cuda/lib64/stubs/libcuda.so.1", "libcuda.so")
    tree.file("/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10", "xx")
    tree.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.570.86.10")
    tree.file("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.565.57.01", "xx")
    tree.link("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "libnvidia-ml.so.565.57.01")
    healthy = tree.look({}).driver
    assert healthy.libcuda_path == "/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10"
    assert (healthy.libcuda_version, healthy.libcuda_stub) == ("570.86.10", False)
    assert healthy.nvml_library_version == "565.57.01"
    snapshot = tree.look({"LD_LIBRARY_PATH": "/opt/cuda/lib64/stubs:/nonsense:relative"})
    assert snapshot.driver.libcuda_stub is True
    assert not isinstance(snapshot.driver.libcuda_candidates, Missing)
    assert [(c.found_by, c.stub) for c in snapshot.driver.libcuda_candidates if c.soname == "libcuda.so.1"] == [
        ("LD_LIBRARY_PATH", True),
        ("default", False),
    ]
    assert snapshot.cuda.stub_directories == ("/opt/cuda/lib64/stubs",)
    assert snapshot.cuda.ld_library_path == ("/opt/cuda/lib64/stubs", "/nonsense")


def test_driver_library_in_a_folder_that_the_loader_does_not_search(tree: Tree) -> None:
    tree.file("/usr/local/nvidia/lib64/libcuda.so.535.183.01", "x")
    tree.link("/usr/local/nvidia/lib64/libcuda.so.1", "libcuda.so.535.183.01")
    driver = tree.look({}).driver
    assert isinstance(driver.libcuda_path, Missing) and driver.libcuda_path.reason == "absent"
    assert not isinstance(driver.libcuda_candidates, Missing)
    assert [(c.found_by, c.version) for c in driver.libcuda_candidates] == [("elsewhere", "535.183.01")]


def test_links_of_a_root_folder_never_lead_out_of_it(tree: Tree) -> None:
    tree.kernel().link("/etc/os-release", "/../../../../../../etc/os-release").link(
        "/usr/local/cuda", "/usr/local/cuda"
    )
    tree.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/etc/hostname-of-the-root")
    snapshot = tree.look()
    assert isinstance(snapshot.host.os_name, Missing)
    assert isinstance(snapshot.driver.libcuda_path, Missing)
