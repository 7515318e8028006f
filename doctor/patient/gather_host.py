"""Part of the gatherer: the machine itself and this process, by files."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Mapping, Optional

from .files import Emit, Files
from .path_words import clean, why

DMI = ("sys_vendor", "product_name", "board_vendor", "chassis_asset_tag", "bios_vendor", "chassis_type")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_HOST_FILES = (
    "/proc/version", "/proc/sys/kernel/osrelease", "/proc/meminfo", "/proc/self/limits", "/proc/self/cgroup",
    "/proc/1/cgroup", "/proc/self/mountinfo", "/etc/os-release", "/usr/lib/os-release", "/run/.containerenv",
)  # fmt: skip
_HOST_PATHS = (
    "/.dockerenv", "/.singularity.d", "/var/run/secrets/kubernetes.io", "/usr/lib/wsl/lib", "/kaggle",
    "/content/sample_data", "/var/spool/slurmd", "/var/lib/slurm/slurmd", "/var/lib/kubelet",
)  # fmt: skip


def kernel_side(files: Files) -> bool:
    """Whether the root has a /proc of a running kernel; an unpacked image has none, and then nothing there speaks."""
    return files.kind("/proc/version") == "file"


def gather_process(emit: Emit) -> None:
    """Emit what this process knows of the system that it runs on."""
    line: Dict[str, Any] = {"at": "process", "system": sys.platform}
    if hasattr(os, "uname"):  # not on native Windows
        uname = os.uname()
        line.update(system=uname.sysname, release=uname.release, machine=uname.machine, euid=os.geteuid())
    try:
        line["cores"] = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        line["cores"] = os.cpu_count()
    try:
        line["libc"] = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        line["libc"] = None
    emit(line)


def gather_host(files: Files, tools: Any) -> None:
    """Emit the files of the machine itself: kernel, limits, control groups, C library, shared memory."""
    for path in _HOST_FILES:
        files.text(path)
    for path in _HOST_PATHS:
        files.exists(path)
    files.text("/proc/cpuinfo", 8192)  # the first cores say it all; reading every core is slow on large machines
    if files.exists("/sys/class/dmi/id"):
        for name in DMI:
            files.text("/sys/class/dmi/id/" + name, 256)
    if files.exists("/sys/firmware/efi"):
        files.data(SECURE_BOOT, 64)
    if kernel_side(files):
        files.names("/dev/infiniband")
        _built(files)
    _cgroup(files)
    _libc(files, tools)
    _statvfs(files.emit, "shm", "/dev/shm", files.root)


def _built(files: Files) -> None:
    """Whether modprobe's list for the running kernel names an nvidia module; found is null where there is no list."""
    if files.kind("/sys/module/nvidia"):
        return
    kernel = (files.text("/proc/sys/kernel/osrelease") or "").strip()
    if not kernel or "/" in kernel:
        return
    listed = files.peek("/lib/modules/" + kernel + "/modules.dep", 16 << 20)
    found = None
    if listed is not None:
        modules = (line.partition(":")[0].rpartition("/")[2] for line in listed.split("\n") if "nvidia.ko" in line)
        found = any(name.split(".")[:2] == ["nvidia", "ko"] for name in modules)
    files.emit({"at": "built", "kernel": clean(kernel), "found": found})


def _cgroup(files: Files) -> None:
    """Limits of the own control group and of each above it (v2), or of the v1 controllers."""
    groups = {"": "/"}
    for line in (files.text("/proc/self/cgroup") or "").splitlines()[:64]:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            groups[controller] = path
    if files.exists("/sys/fs/cgroup/cgroup.controllers"):
        for folder in _upwards("/sys/fs/cgroup", groups[""]):
            files.text(folder + "/cpu.max", 256)
            files.text(folder + "/memory.max", 256)
        return
    for name, leaves in (("cpu", ("cpu.cfs_quota_us", "cpu.cfs_period_us")), ("memory", ("memory.limit_in_bytes",))):
        for folder in _upwards("/sys/fs/cgroup/" + name, groups.get(name, "/")):
            for leaf in leaves:
                files.text(folder + "/" + leaf, 256)


def _upwards(base: str, path: str) -> "list[str]":
    """`base` and each folder on the way down to base + path. A path with .. is another namespace's: only the base."""
    parts = [part for part in path.split("/") if part][:32]
    if ".." in parts:
        return [base]
    return [base + "".join("/" + part for part in parts[:count]) for count in range(len(parts) + 1)]


def _libc(files: Files, tools: Any) -> None:
    """Loaders that exist name the architecture; where this is not the own process, the library names its version."""
    for path in (
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/ld-musl-x86_64.so.1",
        "/lib/ld-musl-aarch64.so.1",
    ):
        files.exists(path)
    if files.root and tools is not None:
        for folder in ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"):
            path = folder + "/libc.so.6"
            if files.kind(path) == "file":
                version = tools.libc(files.on_disk(path))
                if version:
                    files.emit({"at": "match", "path": path, "line": version})
                return
    musl = files.peek("/lib/apk/db/installed", 1 << 20)
    at = (musl or "").find("\nP:musl\n")
    if musl and at >= 0:
        for line in musl[at + 1 : at + 400].split("\n"):
            if line.startswith("V:"):
                files.emit({"at": "match", "path": "/lib/apk/db/installed", "line": "musl " + line[2:]})
                break


def gather_disks(emit: Emit, env: Mapping[str, str], chosen: Optional[Mapping[str, Any]]) -> None:
    """Emit the room on the disks that an install takes: the environment's, pip's cache, home, the temporary one."""
    home = env.get("HOME") or os.path.expanduser("~")
    cache = env.get("PIP_CACHE_DIR") or os.path.join(env.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "pip")
    disks = [("tmp", env.get("TMPDIR") or "/tmp"), ("home", home), ("pip-cache", cache)]
    if chosen and chosen.get("prefix"):
        disks.insert(0, ("environment", (chosen.get("site_packages") or [chosen["prefix"]])[0]))
    for role, path in disks:
        while path and not os.path.exists(path) and path != os.path.dirname(path):
            path = os.path.dirname(path)  # pip makes what is not there yet
        _statvfs(emit, role, path or "/")


def _statvfs(emit: Emit, role: str, path: str, root: str = "") -> None:
    if root or not hasattr(os, "statvfs"):
        return  # a folder's disk is not the disk of the machine that it will run on
    try:
        value = os.statvfs(path)
    except OSError as error:
        reason, detail = why(error)
        emit({"at": "missing", "path": clean(path), "reason": reason, "detail": detail})
        return
    emit(
        {
            "at": "statvfs",
            "role": role,
            "path": clean(path),
            "total_mib": value.f_frsize * value.f_blocks >> 20,
            "free_mib": value.f_frsize * value.f_bavail >> 20,
            "writable": os.access(path, os.W_OK),
        }
    )
