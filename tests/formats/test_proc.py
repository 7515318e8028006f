"""Text files of Linux: samples from different CPUs, kernels and cgroup versions, and this machine."""

from __future__ import annotations

import os
import resource
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import proc

MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/root rw,discard
33 22 0:29 / /dev/shm rw,nosuid,nodev shared:15 - tmpfs tmpfs rw,size=65536k,inode64
40 22 8:1 /var/lib/docker/containers/1f/hosts /etc/hosts ro,nosuid,nodev master:1 - ext4 /dev/root rw
41 22 0:40 / /mnt/with\\040space ro,relatime - overlay overlay ro,lowerdir=/a:/b\\040c
no such line
42 22 0:41 / /data rw - nfs4
"""
GRACE = """\
processor\t: 0
BogoMIPS\t: 2000.00
Features\t: fp asimd sve2
CPU implementer\t: 0x41
CPU architecture: 8
CPU part\t: 0xd4f

processor\t: 1
CPU implementer\t: 0x41
CPU part\t: 0xd4f
"""
XEON = """\
processor\t: 0
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8480C
flags\t\t: fpu avx2 {flag}
"""


def test_mounts() -> None:
    mounts = proc.parse_mountinfo(MOUNTS)
    assert [m.mount_point for m in mounts] == ["/", "/dev/shm", "/etc/hosts", "/mnt/with space"]
    assert mounts[1].options == "rw,size=65536k,inode64"
    assert mounts[2].root == "/var/lib/docker/containers/1f/hosts"
    assert mounts[3][2:] == ("overlay", "ro,lowerdir=/a:/b c")


@pytest.mark.parametrize(
    ("text", "model"),
    [
        (XEON, "Intel(R) Xeon(R) Platinum 8480C"),
        (GRACE, "Neoverse-V2"),
        (GRACE.replace("0xd4f", "0xfff"), "Arm implementer 0x41 part 0xfff"),
        (
            "processor\t: 0\nmodel name\t: ARMv8 Processor rev 1 (v8l)\nCPU part\t: 0xd42\n",
            "ARMv8 Processor rev 1 (v8l)",
        ),
        ("processor\t: 0\nBogoMIPS\t: 108.00\n\nModel\t\t: Raspberry Pi 5\n", "Raspberry Pi 5"),
        ("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("processor 0: version = FF\n", None),
        ("", None),
    ],
)
def test_the_name_of_a_cpu(text: str, model: str | None) -> None:
    assert proc.parse_cpuinfo(text).model == model


def test_a_virtual_cpu_says_so() -> None:
    assert proc.parse_cpuinfo(XEON.format(flag="hypervisor")).hypervisor
    assert not proc.parse_cpuinfo(XEON.format(flag="nohypervisor")).hypervisor
    assert not proc.parse_cpuinfo(GRACE).hypervisor


def test_this_machine() -> None:
    mounts = proc.parse_mountinfo(Path("/proc/self/mountinfo").read_text())
    assert len(mounts) == len(Path("/proc/self/mountinfo").read_text().splitlines())
    assert {m.fstype for m in mounts if m.mount_point == "/proc"} == {"proc"}
    memory_kib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024
    assert proc.parse_meminfo(Path("/proc/meminfo").read_text())["MemTotal"] == memory_kib
    limits = proc.parse_limits(Path("/proc/self/limits").read_text())
    wanted = [inf if value == resource.RLIM_INFINITY else value for value in resource.getrlimit(resource.RLIMIT_NOFILE)]
    assert list(limits["max open files"]) == wanted
    assert len(limits) >= 14
    assert proc.parse_os_release(Path("/etc/os-release").read_text())["ID"]
    assert proc.parse_cgroup(Path("/proc/self/cgroup").read_text())


def test_meminfo() -> None:
    text = "MemTotal:       16384 kB\nHugePages_Total:       4\nActive(anon):   7 kB\nbroken: kB\nodd: 1 MB\n"
    assert proc.parse_meminfo(text) == {"MemTotal": 16384, "HugePages_Total": 4, "Active(anon)": 7}


def test_limits() -> None:
    text = (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         8388608              unlimited            bytes     \n"
        "Max nice priority         0                    0                    \n"
        "Max open files            1024\n"
    )
    assert proc.parse_limits(text) == {"max locked memory": (8388608, inf), "max nice priority": (0, 0)}


def test_cgroup_lines() -> None:
    assert proc.parse_cgroup("0::/kubepods.slice/x:y\n") == [((), "/kubepods.slice/x:y")]
    assert proc.parse_cgroup("4:cpu,cpuacct:/docker/ab\nx:y\n") == [(("cpu", "cpuacct"), "/docker/ab")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max 100000\n", inf),
        ("150000 100000\n", 1.5),
        ("max", inf),
        ("200000", 2.0),
        ("", None),
        ("1 0", None),
        ("a b", None),
        ("-5 100000", None),
    ],
)
def test_cpu_max(text: str, expected: float | None) -> None:
    assert proc.parse_cpu_max(text) == expected


def test_the_older_cgroup_files() -> None:
    assert proc.parse_cpu_quota("-1\n", "100000\n") == inf
    assert proc.parse_cpu_quota("400000\n", "100000\n") == 4.0
    assert proc.parse_cpu_quota("", "100000") is None
    assert proc.parse_memory_limit("9223372036854771712\n") == inf


def test_memory_limit() -> None:
    assert proc.parse_memory_limit("max\n") == inf
    assert proc.parse_memory_limit("8589934592\n") == 8 << 30
    assert proc.parse_memory_limit("lots") is None


def test_os_release() -> None:
    text = 'NAME="Debian GNU/Linux"\nVERSION_ID=\'12\'\nID=debian\n# c\n#x=y\nPRETTY_NAME="A \\"B\\" \\$C"\nbroken\nlow=1\n'
    assert proc.parse_os_release(text) == {
        "NAME": "Debian GNU/Linux",
        "VERSION_ID": "12",
        "ID": "debian",
        "PRETTY_NAME": 'A "B" $C',
    }


def test_wsl() -> None:
    assert proc.is_wsl("5.15.153.1-microsoft-standard-WSL2")
    assert proc.is_wsl("Linux version 4.4.0-19041-Microsoft (x)")
    assert not proc.is_wsl("6.8.0-45-generic")


def test_pyvenv_cfg() -> None:
    text = "home = /usr/bin\ninclude-system-site-packages = true\nVersion = 3.11.2\nuv = 0.4.1\nbroken\n = x\n"
    assert proc.parse_pyvenv_cfg(text) == {
        "home": "/usr/bin",
        "include-system-site-packages": "true",
        "version": "3.11.2",
        "uv": "0.4.1",
    }


@given(st.text(max_size=300))
def test_no_text_is_too_odd(text: str) -> None:
    assert all(m.mount_point is not None for m in proc.parse_mountinfo(text + " - a b"))
    for parse in (proc.parse_cpuinfo, proc.parse_meminfo, proc.parse_cgroup, proc.parse_limits, proc.parse_os_release):
        parse(text)
    proc.parse_pyvenv_cfg(text)
    assert proc.parse_cpu_max("x" + text) is None
    assert proc.parse_memory_limit("x" + text) is None
