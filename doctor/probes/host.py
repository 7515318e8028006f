"""Host facts from /proc, /sys, /etc/os-release and the process line, with the limits of control groups."""

from __future__ import annotations

import re

from ..formats import proc
from ..snapshot import ABSENT, NOT_ASKED, Disk, EnvVar, Host, Missing
from .provider import chassis, cluster_node, provider, scheduler, virtualization
from .raw import Raw, number, string

_LOADERS = (
    ("/lib64/ld-linux-x86-64.so.2", "x86_64"),
    ("/lib/ld-linux-aarch64.so.1", "aarch64"),
    ("/lib/ld-musl-x86_64.so.1", "x86_64"),
    ("/lib/ld-musl-aarch64.so.1", "aarch64"),
)
_LIBC_PATHS = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib")
_CGROUPS = "/sys/fs/cgroup"
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def parse_host(raw: Raw) -> Host:
    """All of Host that files tell."""
    process = raw.row("process")
    release = os_release(raw)
    env = raw.env()
    live = not isinstance(process, Missing)
    row = process if not isinstance(process, Missing) else {}
    cores, euid = number(row.get("cores")), number(row.get("euid"))
    shm = next((r for r in raw.rows("statvfs") if r.get("role") == "shm"), None)
    return Host(
        system=_system(string(row.get("system"))) or ("linux" if not isinstance(release, Missing) else raw.unasked),
        os_name=release.get("PRETTY_NAME", ABSENT) if isinstance(release, dict) else release,
        os_id=release.get("ID", ABSENT) if isinstance(release, dict) else release,
        os_version=release.get("VERSION_ID", ABSENT) if isinstance(release, dict) else release,
        kernel=string(row.get("release")) or _kernel(raw),
        architecture=string(row.get("machine")) or _architecture(raw),
        libc=_libc(raw, string(row.get("libc"))),
        wsl=_wsl(raw),
        virtualization=virtualization(raw),
        chassis=chassis(raw),
        cpu_model=_cpu_model(raw),
        cpu_cores=cores if cores is not None else raw.unasked,
        cpu_quota_cores=_cpu_quota(raw),
        memory_total_mib=_meminfo(raw),
        memory_limit_mib=_memory_limit(raw),
        shm_mib=_mib(shm.get("total_mib")) if shm else raw.gap("/dev/shm"),
        disks=_disks(raw) if live else NOT_ASKED,
        memlock_kib=_process_limit(raw, "max locked memory", 1024) if live else NOT_ASKED,
        open_files=_process_limit(raw, "max open files", 1) if live else NOT_ASKED,
        rdma_devices=_rdma(raw),
        provider=provider(raw),
        scheduler=scheduler(raw),
        cluster_node=cluster_node(raw),
        user_is_root=euid == 0 if euid is not None else raw.unasked,
        secure_boot=_secure_boot(raw),
        environment=tuple(EnvVar(k, v) for k, v in env.items()) if isinstance(env, dict) else env,
    )


def _system(reported: str) -> str:
    return "windows" if reported == "win32" else reported.lower()


def os_release(raw: Raw) -> dict[str, str] | Missing:
    """/etc/os-release, else the one in /usr/lib, as a table."""
    text = raw.text("/etc/os-release")
    if isinstance(text, Missing):
        other = raw.text("/usr/lib/os-release")
        if isinstance(other, Missing):
            return text
        text = other
    return proc.parse_os_release(text)


def _kernel(raw: Raw) -> str | Missing:
    text = raw.text("/proc/sys/kernel/osrelease")
    if isinstance(text, str) and text.strip():
        return text.strip()
    version = raw.text("/proc/version")
    if isinstance(version, Missing):
        return version
    match = re.match(r"Linux version (\S+)", version)
    return match.group(1) if match else Missing("error", "/proc/version could not be parsed")


def _architecture(raw: Raw) -> str | Missing:
    found = [name for path, name in _LOADERS if raw.exists(path) is True]
    return found[0] if found else raw.unasked


def _libc(raw: Raw, reported: str) -> str | Missing:
    if reported:
        return reported
    for folder in _LIBC_PATHS:
        version = raw.match(folder + "/libc.so.6")
        if isinstance(version, str):
            return f"glibc {version}"
    musl = raw.match("/lib/apk/db/installed")
    if isinstance(musl, str):
        return musl.partition("-r")[0]
    if any(raw.exists(path) is True for path, _ in _LOADERS[2:]):
        return "musl"
    return raw.unasked


def _wsl(raw: Raw) -> int | Missing:
    text = raw.text("/proc/version")
    if isinstance(text, Missing):
        return text
    if not proc.is_wsl(text):
        return 0
    lower = text.lower()
    return 2 if "wsl2" in lower or "microsoft-standard" in lower or raw.exists("/usr/lib/wsl/lib") is True else 1


def _cpu_model(raw: Raw) -> str | Missing:
    text = raw.text("/proc/cpuinfo")
    if isinstance(text, Missing):
        return text
    return proc.parse_cpuinfo(text).model or ABSENT


def _meminfo(raw: Raw) -> int | Missing:
    text = raw.text("/proc/meminfo")
    if isinstance(text, Missing):
        return text
    total = proc.parse_meminfo(text).get("MemTotal")
    return Missing("error", "/proc/meminfo has no MemTotal") if total is None else total // 1024


def _disks(raw: Raw) -> tuple[Disk, ...] | Missing:
    found = []
    for row in raw.rows("statvfs"):
        free = number(row.get("free_mib"))
        if row.get("role") != "shm" and free is not None:
            found.append(Disk(string(row.get("role")), string(row.get("path")), free, row.get("writable") is True))
    return tuple(found) if found else raw.unasked


def _rdma(raw: Raw) -> int | Missing:
    names = raw.names("/dev/infiniband")
    if isinstance(names, Missing):
        return 0 if names.reason == "absent" else names
    return sum(name.startswith("uverbs") for name in names)


def _mib(value: object) -> int | Missing:
    found = number(value)
    return Missing("error") if found is None else found


def _secure_boot(raw: Raw) -> bool | Missing:
    if raw.exists("/sys/firmware/efi") is False:
        return Missing("absent", "no EFI firmware here")
    data = raw.data(_SECURE_BOOT)
    if isinstance(data, Missing):
        return data
    return data[4] == 1 if len(data) == 5 else Missing("error", "the SecureBoot variable is not 5 bytes")


def _cpu_quota(raw: Raw) -> float | Missing:
    """The smallest quota of this control group and those above it, in cores."""
    found = []
    for folder in _groups(raw, "cpu"):
        text = raw.text(folder + "/cpu.max")
        quota, period = raw.text(folder + "/cpu.cfs_quota_us"), raw.text(folder + "/cpu.cfs_period_us")
        if isinstance(text, str):
            found.append(proc.parse_cpu_max(text))
        elif isinstance(quota, str) and isinstance(period, str):
            found.append(proc.parse_cpu_quota(quota, period))
    return _smallest(raw, found)


def _memory_limit(raw: Raw) -> int | Missing:
    """The smallest memory limit of this control group and those above it, in MiB."""
    paths = (folder + leaf for folder in _groups(raw, "memory") for leaf in ("/memory.max", "/memory.limit_in_bytes"))
    found = [proc.parse_memory_limit(text) for text in map(raw.text, paths) if isinstance(text, str)]
    limit = _smallest(raw, found)
    return limit if isinstance(limit, Missing) else int(limit) >> 20


def _smallest(raw: Raw, limits: list[float | None]) -> float | Missing:
    known = [limit for limit in limits if limit is not None]
    if known and min(known) < proc.UNLIMITED:
        return min(known)
    if limits:
        return Missing("absent", "no limit")
    return raw.unasked if raw.unasked.reason == "timeout" else Missing("absent", "no cgroup limits here")


def _groups(raw: Raw, controller: str) -> list[str]:
    """Folders of this process's control group and of those above it, v2 and v1."""
    found = [_CGROUPS, f"{_CGROUPS}/{controller}"]
    text = raw.text("/proc/self/cgroup")
    for controllers, path in proc.parse_cgroup(text)[:64] if isinstance(text, str) else ():
        if not controllers or controller in controllers:
            top = f"{_CGROUPS}/{controller}" if controllers else _CGROUPS
            parts = [part for part in path.split("/") if part][:32]
            found += [top + "".join(f"/{part}" for part in parts[: n + 1]) for n in range(len(parts))]
    return found


def _process_limit(raw: Raw, name: str, unit: int) -> int | Missing:
    """A soft limit of /proc/self/limits divided by `unit`; -1 is unlimited."""
    text = raw.text("/proc/self/limits")
    if isinstance(text, Missing):
        return text
    soft, _ = proc.parse_limits(text).get(name, (None, None))
    if soft is None:
        return ABSENT
    return -1 if soft == proc.UNLIMITED else int(soft) // unit
