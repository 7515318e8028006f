"""Whether modprobe would find the NVIDIA module, and RDMA devices, from folders of files."""

from __future__ import annotations

import pytest

from doctor.snapshot import Missing

from .tree import PROPRIETARY_DRIVER, Tree

KERNEL = "5.15.0-113-generic"
DEP = f"/lib/modules/{KERNEL}/modules.dep"


def running(tree: Tree) -> Tree:
    return tree.kernel().file("/proc/sys/kernel/osrelease", KERNEL + "\n")


@pytest.mark.parametrize(
    ("line", "built"),
    [
        ("updates/dkms/nvidia.ko: kernel/drivers/video/x.ko\n", True),
        ("extra/nvidia.ko.xz:\n", True),
        ("kernel/nvidia-535/nvidia.ko.zst: a.ko\n", True),
        ("nvidia.ko:\n", True),
        ("kernel/drivers/usb/nvidia.kox:\nkernel/i2c/i2c-nvidia.ko:\n", False),
        ("a/b.ko: updates/nvidia.ko\n", False),
        ("", False),
    ],
)
def test_the_list_of_the_running_kernel_decides(tree: Tree, line: str, built: bool) -> None:
    running(tree).file(DEP, "kernel/fs/ext4.ko: kernel/fs/jbd2.ko\n" + line)
    assert tree.look().driver.module_built is built


def test_without_a_list_it_is_not_known(tree: Tree) -> None:
    running(tree).file("/lib/modules/6.8.0-45-generic/modules.dep", "updates/dkms/nvidia.ko:\n")
    fact = tree.look().driver.module_built
    assert isinstance(fact, Missing) and fact.reason == "absent"


def test_rdma_devices_are_counted(tree: Tree) -> None:
    assert tree.kernel().look().host.rdma_devices == 0
    tree.file("/dev/infiniband/uverbs0").file("/dev/infiniband/uverbs1").file("/dev/infiniband/rdma_cm")
    assert tree.look().host.rdma_devices == 2


def test_an_image_that_runs_nowhere_has_no_such_facts(tree: Tree) -> None:
    tree.file("/etc/os-release", "ID=ubuntu\n")
    snapshot = tree.look()
    assert isinstance(snapshot.host.rdma_devices, Missing) and isinstance(snapshot.driver.module_built, Missing)


def test_a_module_that_is_loaded_was_built(tree: Tree) -> None:
    running(tree).folder("/sys/module/nvidia").file("/proc/driver/nvidia/version", PROPRIETARY_DRIVER)
    assert tree.look().driver.module_built is True
