"""Host facts: many machines as folders, and this very machine against what Python's own modules say of it."""

from __future__ import annotations

import os
import platform

import pytest

from doctor.probes.collect import Options, collect
from doctor.snapshot import Missing

from .tree import PROC_VERSION, Tree

WSL2 = "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f) (gcc 11.2.0) #1 SMP\n"
WSL1 = "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0) #1237-Microsoft\n"


def test_this_machine_as_python_sees_it() -> None:
    host = collect(Options(import_torch=False, ask_driver=False)).host
    assert host.system == platform.system().lower()
    assert host.kernel == os.uname().release
    assert host.architecture == platform.machine()
    assert host.cpu_cores == len(os.sched_getaffinity(0))
    assert host.user_is_root == (os.geteuid() == 0)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    assert isinstance(host.memory_total_mib, int) and abs(host.memory_total_mib - pages) <= 1
    assert host.libc in (f"glibc {platform.libc_ver()[1]}", "musl")
    shm = os.statvfs("/dev/shm")
    assert host.shm_mib == shm.f_blocks * shm.f_frsize >> 20
    assert not isinstance(host.disks, Missing) and {d.role for d in host.disks} >= {"environment", "tmp", "home"}


def test_os_release_and_kernel(tree: Tree) -> None:
    tree.kernel().file("/proc/sys/kernel/osrelease", "5.15.0-113-generic\n")
    tree.file(
        "/etc/os-release", 'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\n# x=y\n'
    )
    host = tree.look().host
    assert (host.os_id, host.os_version, host.os_name) == ("ubuntu", "22.04", "Ubuntu 22.04.4 LTS")
    assert host.kernel == "5.15.0-113-generic"
    assert host.cpu_model == "AMD EPYC 9654"


def test_the_cpu_of_a_grace_is_named_by_its_part(tree: Tree) -> None:
    tree.kernel().file("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n")
    assert tree.look().host.cpu_model == "Neoverse-V2"


def test_os_release_in_usr_lib_serves_where_etc_has_none(tree: Tree) -> None:
    tree.file("/usr/lib/os-release", "ID=fedora\n")
    assert tree.look().host.os_id == "fedora"


@pytest.mark.parametrize(("version", "expected"), [(WSL2, 2), (WSL1, 1), (PROC_VERSION, 0)])
def test_wsl(tree: Tree, version: str, expected: int) -> None:
    host = tree.kernel(version).look().host
    assert host.wsl == expected
    assert (host.virtualization == "hyperv") == (expected > 0)


def test_unpacked_image_knows_no_kernel(tree: Tree) -> None:
    snapshot = tree.folder("/etc").folder("/dev").folder("/sys/module").look()
    for value in (snapshot.host.wsl, snapshot.host.kernel, snapshot.driver.kernel_version):
        assert isinstance(value, Missing)
    assert isinstance(snapshot.driver.device_nodes, Missing), "an image's empty /dev says nothing of a machine"
    assert isinstance(snapshot.driver.modules, Missing)
    assert isinstance(snapshot.host.environment, Missing)


def test_alpine_is_musl_by_its_package_list(tree: Tree) -> None:
    tree.file("/lib/ld-musl-x86_64.so.1", "\x7fELF").file(
        "/lib/apk/db/installed", "C:Q1\n\nC:Q2\nP:musl\nV:1.2.4-r2\nA:x86_64\n"
    )
    host = tree.look().host
    assert (host.libc, host.architecture) == ("musl 1.2.4", "x86_64")


def test_glibc_version_of_a_root_folder(tree: Tree) -> None:
    tree.file(
        "/lib/x86_64-linux-gnu/libc.so.6", b"\x7fELF" + b"\0" * 900 + b"GNU C Library stable release version 2.35.\n"
    )
    assert tree.look().host.libc == "glibc 2.35"


def test_cgroup_v2_takes_the_tightest_limit_on_the_way_up(tree: Tree) -> None:
    tree.kernel().file("/proc/self/cgroup", "0::/kubepods/pod1\n").file(
        "/sys/fs/cgroup/cgroup.controllers", "cpu memory\n"
    )
    tree.file("/sys/fs/cgroup/cpu.max", "max 100000\n").file("/sys/fs/cgroup/memory.max", "max\n")
    tree.file("/sys/fs/cgroup/kubepods/cpu.max", "250000 100000\n").file(
        "/sys/fs/cgroup/kubepods/memory.max", "17179869184\n"
    )
    tree.file("/sys/fs/cgroup/kubepods/pod1/cpu.max", "400000 100000\n")
    host = tree.look().host
    assert host.cpu_quota_cores == 2.5
    assert host.memory_limit_mib == 16384


def test_cgroup_v1_and_its_way_to_say_no_limit(tree: Tree) -> None:
    tree.kernel().file("/proc/self/cgroup", "4:memory:/\n1:cpu,cpuacct:/docker/abc\n")
    tree.file("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "150000\n")
    tree.file("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n")
    tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    host = tree.look().host
    assert host.cpu_quota_cores == 1.5
    assert host.memory_limit_mib == Missing("absent", "no limit")


def test_cgroup_path_of_another_namespace_does_not_lead_outside(tree: Tree) -> None:
    tree.kernel().file("/proc/self/cgroup", "0::/../../etc\n").file("/sys/fs/cgroup/cgroup.controllers", "cpu\n")
    tree.file("/sys/fs/cgroup/cpu.max", "100000 100000\n")
    assert tree.look().host.cpu_quota_cores == 1.0


@pytest.mark.parametrize(
    ("env", "dmi", "provider", "virtualization"),
    [
        ({"RUNPOD_POD_ID": "x"}, {"sys_vendor": "Dell Inc."}, "runpod", "none"),
        ({"VAST_CONTAINERLABEL": "C.1"}, {}, "vast", None),
        ({"MODAL_TASK_ID": "t"}, {"sys_vendor": "Amazon EC2", "product_name": "g5.xlarge"}, "modal", "amazon"),
        ({}, {"sys_vendor": "Amazon EC2", "product_name": "p4d.metal"}, "aws", "none"),
        ({}, {"sys_vendor": "Google", "product_name": "Google Compute Engine"}, "gcp", "kvm"),
        (
            {},
            {
                "sys_vendor": "Microsoft Corporation",
                "product_name": "Virtual Machine",
                "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
            },
            "azure",
            "hyperv",
        ),
        ({}, {"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, None, "hyperv"),
        ({}, {"sys_vendor": "QEMU", "product_name": "Standard PC"}, None, "kvm"),
        ({"COLAB_RELEASE_TAG": "r"}, {}, "colab", None),
        ({"KAGGLE_KERNEL_RUN_TYPE": "Batch"}, {}, "kaggle", None),
    ],
)
def test_provider_and_virtualization(
    tree: Tree, env: dict[str, str], dmi: dict[str, str], provider: str | None, virtualization: str | None
) -> None:
    tree.kernel()
    for name, value in dmi.items():
        tree.file(f"/sys/class/dmi/id/{name}", value + "\n")
    host = tree.look(env).host
    assert host.provider == (provider or Missing("absent"))
    if virtualization:
        assert host.virtualization == virtualization
    else:
        assert isinstance(host.virtualization, Missing)


def test_processor_flag_shows_a_virtual_machine_without_dmi(tree: Tree) -> None:
    tree.kernel().file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: x\nflags\t\t: fpu hypervisor lahf_lm\n")
    assert tree.look().host.virtualization == "vm"


def test_schedulers(tree: Tree) -> None:
    assert tree.look({"SLURM_JOB_ID": "1", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}).host.scheduler == "slurm"
    assert tree.look({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}).host.scheduler == "kubernetes"
    assert tree.look({}).host.scheduler == Missing("absent")


def test_secure_boot_is_read_from_the_firmware_variable(tree: Tree) -> None:
    path = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    tree.kernel().file(path, b"\x06\0\0\0\x01")
    assert tree.look().host.secure_boot is True
    tree.file(path, b"\x06\0\0\0\0")
    assert tree.look().host.secure_boot is False
    tree.file(path, b"\x06")
    assert isinstance(tree.look().host.secure_boot, Missing)


def test_only_variables_that_matter_are_kept_and_no_secrets(tree: Tree) -> None:
    env = {
        "CUDA_VISIBLE_DEVICES": "", "NCCL_DEBUG": "INFO", "AWS_SECRET_ACCESS_KEY": "s", "MODAL_TOKEN_SECRET": "s",
        "NVIDIA_API_KEY": "s", "TORCH_CUDA_ARCH_LIST": "9.0", "HOME": "/root", "RUNPOD_API_KEY": "s", "TORCH_AUTH": "s",
    }  # fmt: skip
    host = tree.look(env).host
    assert not isinstance(host.environment, Missing)
    assert {v.name: v.value for v in host.environment} == {
        "CUDA_VISIBLE_DEVICES": "",
        "NCCL_DEBUG": "INFO",
        "TORCH_CUDA_ARCH_LIST": "9.0",
    }
    assert host.env("CUDA_VISIBLE_DEVICES") == ""
    assert host.env("CUDA_DEVICE_ORDER") is None
