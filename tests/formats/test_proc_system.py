"""Machine facts of Linux: samples from different CPUs and cgroup versions, and this machine."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import proc_system as ps
from doctor.formats.proc_system import Limit


def x86(cpus: int, cores: int, sockets: int) -> str:
    return "\n".join(
        f"processor\t: {n}\nmodel name\t: Intel(R) Xeon(R) Platinum 8480C\nphysical id\t: {n % sockets}\n"
        f"core id\t\t: {n // sockets % cores}\nflags\t\t: fpu avx2 hypervisor\n"
        for n in range(cpus)
    )


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


def test_x86() -> None:
    found = ps.parse_cpuinfo(x86(cpus=8, cores=2, sockets=2))
    assert found[:4] == ("Intel(R) Xeon(R) Platinum 8480C", 8, 4, 2)
    assert found.hypervisor


def test_arm_is_named_by_its_part() -> None:
    assert ps.parse_cpuinfo(GRACE) == ps.CpuInfo("Neoverse-V2", 2, None, None, ("fp", "asimd", "sve2"))
    unknown = ps.parse_cpuinfo(GRACE.replace("0xd4f", "0xfff"))
    assert unknown.model == "Arm implementer 0x41 part 0xfff"
    assert ps.parse_cpuinfo("processor 0: version = FF\nprocessor 1: version = FF\n").logical == 2


def test_this_machine() -> None:
    assert ps.parse_cpuinfo(Path("/proc/cpuinfo").read_text()).logical == os.sysconf("SC_NPROCESSORS_ONLN")
    memory_kib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024
    assert ps.parse_meminfo(Path("/proc/meminfo").read_text())["MemTotal"] == memory_kib
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = ps.parse_limits(Path("/proc/self/limits").read_text())
    wanted = [Limit(None if value == resource.RLIM_INFINITY else value) for value in (soft, hard)]
    assert list(limits["max open files"]) == wanted
    assert len(limits) >= 14
    assert ps.parse_os_release(Path("/etc/os-release").read_text())["ID"]
    assert ps.parse_cgroup(Path("/proc/self/cgroup").read_text())


def test_meminfo() -> None:
    text = "MemTotal:       16384 kB\nHugePages_Total:       4\nActive(anon):   7 kB\nbroken: kB\n"
    assert ps.parse_meminfo(text) == {"MemTotal": 16384, "HugePages_Total": 4, "Active(anon)": 7}


def test_limits() -> None:
    text = (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         8388608              unlimited            bytes     \n"
        "Max nice priority         0                    0                    \n"
    )
    assert ps.parse_limits(text) == {
        "max locked memory": (Limit(8388608), Limit(None)),
        "max nice priority": (Limit(0), Limit(0)),
    }


def test_cgroup_lines() -> None:
    assert ps.parse_cgroup("0::/kubepods.slice/x:y\n") == [ps.CgroupLine(0, (), "/kubepods.slice/x:y")]
    assert ps.parse_cgroup("4:cpu,cpuacct:/docker/ab\nx:y\n") == [ps.CgroupLine(4, ("cpu", "cpuacct"), "/docker/ab")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max 100000\n", Limit(None)),
        ("150000 100000\n", Limit(1.5)),
        ("max", Limit(None)),
        ("200000", Limit(2.0)),
        ("", None),
        ("1 0", None),
        ("a b", None),
        ("-5 100000", None),
    ],
)
def test_cpu_max(text: str, expected: Limit | None) -> None:
    assert ps.parse_cpu_max(text) == expected


def test_the_older_cgroup_files() -> None:
    assert ps.parse_cpu_quota("-1\n", "100000\n") == Limit(None)
    assert ps.parse_cpu_quota("400000\n", "100000\n") == Limit(4.0)
    assert ps.parse_cpu_quota("", "100000") is None
    assert ps.parse_memory_limit("9223372036854771712\n") == Limit(None)


def test_memory_limit() -> None:
    assert ps.parse_memory_limit("max\n") == Limit(None)
    assert ps.parse_memory_limit("8589934592\n") == Limit(8 << 30)
    assert ps.parse_memory_limit("lots") is None


def test_os_release() -> None:
    text = 'NAME="Debian GNU/Linux"\nVERSION_ID=\'12\'\nID=debian\n# c\nPRETTY_NAME="A \\"B\\" \\$C"\nbroken\n'
    assert ps.parse_os_release(text) == {
        "NAME": "Debian GNU/Linux",
        "VERSION_ID": "12",
        "ID": "debian",
        "PRETTY_NAME": 'A "B" $C',
    }


def test_wsl() -> None:
    assert ps.is_wsl("5.15.153.1-microsoft-standard-WSL2")
    assert ps.is_wsl("Linux version 4.4.0-19041-Microsoft (x)")
    assert not ps.is_wsl("6.8.0-45-generic")


@given(st.text(max_size=300))
def test_no_text_is_too_odd(text: str) -> None:
    for parse in (ps.parse_cpuinfo, ps.parse_meminfo, ps.parse_cgroup, ps.parse_limits, ps.parse_os_release):
        parse(text)
    assert ps.parse_cpu_max("x" + text) is None
    assert ps.parse_memory_limit("x" + text) is None
