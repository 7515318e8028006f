"""Gather raw facts from files: one pass over /dev, /proc, /sys, /etc, the loader's path and the patient's Python.

Standard library only (Python 3.8). It judges nothing: it reads, follows what it read to the next file, and emits
JSON-able lines in a fixed order, so that what was emitted before a hang is kept. Lines, by `at`:

cap {what, looked, listed, path}: a list of which only the first part is looked at;
file {path, text, cut?}, data {path, base64}, missing {path, reason, detail}, dir {path, names, total},
exists {path, kind}, link {path, real}, match {path, line}: one line of a long file;
built {kernel, found}: whether modprobe knows an nvidia module for the running kernel;
node {path, mode, uid, gid, major, minor, character, readable, writable}, nodes {complete};
env {values}, process {system, release, machine, euid, cores, libc};
statvfs {role, path, total_mib, free_mib, writable}; pci {address, modalias, driver};
ldcache {path, entries}, loader {cache, ld_library_path, defaults}, library {name, path, real, size, by}, compat
{path, real, note?}, toolkit {path, real, parts}, nvcc {path, real};
python {prefix, ...} (see pythons.py), elf {path, needed, rpath, runpath} and code {path, ...} from the injected tools;
end {}: the pass came to its end.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Mapping, Optional

from .env_names import pick
from .files import Emit, Files, clean, why
from .loader import gather_loader
from .pythons import gather_pythons

MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nvidia_fs", "nouveau", "vfio_pci")
DMI = ("sys_vendor", "product_name", "board_vendor", "chassis_asset_tag", "bios_vendor")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_HOST_FILES = (
    "/proc/version", "/proc/sys/kernel/osrelease", "/proc/meminfo", "/proc/self/limits", "/proc/self/cgroup",
    "/proc/1/cgroup", "/proc/self/mountinfo", "/etc/os-release", "/usr/lib/os-release", "/run/.containerenv",
)  # fmt: skip
_HOST_PATHS = (
    "/.dockerenv", "/.singularity.d", "/var/run/secrets/kubernetes.io", "/usr/lib/wsl/lib", "/kaggle",
    "/content/sample_data",
)  # fmt: skip


def gather(
    emit: Emit,
    root: str = "/",
    env: Optional[Mapping[str, str]] = None,
    tools: Any = None,
    options: Optional[Mapping[str, Any]] = None,
) -> None:
    """Emit all raw lines for the machine (or root folder) at `root`.

    `env`: the patient's environment variables; None where they are not known (a root folder). `tools`: an object with
    elf(path), code(path, ...), ldcache(bytes), note(path), archs(path), libc(path), each returning JSON-able values or
    None; without it those lines are left out. `options`: see `pythons.py`; `devices`: False where `gather_devices` has
    run already; `live`: whether the root is the running system (default: root is /).
    """
    options = dict(options or {})
    files = Files(emit, root)
    live = bool(options.get("live", not files.root))
    variables = {clean(k): clean(v) for k, v in (env or {}).items()}
    if options.get("devices", True):
        gather_devices(emit, root)
    if env is not None:
        emit({"at": "env", "values": pick(variables)})
    if live:
        _process(emit)
    _host(files, tools)
    if kernel_side(files):
        _pci(files)
    loader = gather_loader(files, env if env is None else variables, tools)
    chosen = gather_pythons(files, env if env is None else variables, tools, options, loader)
    if live:
        _disks(emit, variables, chosen)
    emit({"at": "end"})


def kernel_side(files: Files) -> bool:
    """Whether the root has a /proc of a running kernel; an unpacked image has none, and then nothing there speaks."""
    return files.kind("/proc/version") == "file"


def gather_devices(emit: Emit, root: str = "/") -> None:
    """Emit the NVIDIA nodes of /dev and the loaded modules.

    Run it before any NVIDIA library is loaded: with root's rights they load modules and make nodes.
    """
    files = Files(emit, root)
    if not kernel_side(files):
        return
    _driver(files)
    names = files.names("/dev", _is_gpu_node)
    if names is None:
        return
    paths = ["/dev/" + name for name in names if _is_gpu_node(name)]
    for folder in ("/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels"):
        if folder in paths:
            paths.remove(folder)
            paths += [
                folder + "/" + name for name in files.first(files.names(folder) or [], 256, "device-nodes", folder)
            ]
    for path in files.first(paths, 1024, "device-nodes", "/dev"):
        _node(files, path)
    emit({"at": "nodes", "complete": True})


def _is_gpu_node(name: str) -> bool:
    return name.startswith(("nvidia", "nvhost-", "nvmap")) or name in ("dxg", "nvgpu", "kfd")


def _node(files: Files, path: str) -> None:
    try:
        disk = files.on_disk(path)
        status = os.stat(disk)
    except OSError as error:
        files.missing(path, error)
        return
    files.emit(
        {
            "at": "node",
            "path": clean(path),
            "mode": status.st_mode & 0o7777,
            "uid": status.st_uid,
            "gid": status.st_gid,
            "character": (status.st_mode & 0o170000) == 0o020000,
            "major": os.major(status.st_rdev),
            "minor": os.minor(status.st_rdev),
            "readable": os.access(disk, os.R_OK),
            "writable": os.access(disk, os.W_OK),
        }
    )


def _process(emit: Emit) -> None:
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


def _host(files: Files, tools: Any) -> None:
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


def _driver(files: Files) -> None:
    files.text("/proc/driver/nvidia/version", 4096)
    files.names("/proc/driver/nvidia/gpus")
    if not files.exists("/sys/module"):
        return
    for module in MODULES:
        files.exists("/sys/module/" + module)
    if files.kind("/sys/module/nvidia"):
        files.text("/sys/module/nvidia/version", 256)


def _pci(files: Files) -> None:
    """Display devices of any vendor and NVIDIA's bridges; `dir` says how many devices the list has."""
    base = "/sys/bus/pci/devices"
    for address in files.first(files.names(base, lambda name: False) or [], 8192, "pci-devices"):
        alias = files.peek(base + "/" + address + "/modalias", 256)
        if alias is None:
            files.emit({"at": "pci", "address": clean(address), "modalias": None, "driver": None})
        elif "bc03" in alias or ("v000010DE" in alias and "bc06sc80" in alias):
            driver = os.path.basename(files.readlink(base + "/" + address + "/driver"))
            files.emit({"at": "pci", "address": clean(address), "modalias": alias.strip(), "driver": driver or None})


def _disks(emit: Emit, env: Mapping[str, str], chosen: Optional[Mapping[str, Any]]) -> None:
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
