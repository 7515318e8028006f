"""Gather raw facts from files: one pass over /dev, /proc, /sys, /etc, the loader's path and the patient's Python.

Standard library only (Python 3.8). It judges nothing: it reads, follows what it read to the next file, and emits
JSON-able lines in a fixed order, so that what was emitted before a hang is kept. Lines, by `at`:

cap {what, looked, listed, path}: a list of which only the first part is looked at;
file {path, text, cut?}, data {path, base64}, missing {path, reason, detail}, dir {path, names, total},
exists {path, kind}, link {path, real}, match {path, line}: one line of a long file;
built {kernel, found}: whether modprobe knows an nvidia module for the running kernel;
node {path, mode, uid, gid, major, minor, character, readable, writable}, nodes {complete};
env {values}, process {system, release, machine, euid, cores, libc};
statvfs {role, path, total_mib, free_mib, writable}; pci {address, modalias, driver}; pcie (see gather_links.py);
ldcache {path, entries}, loader {cache, ld_library_path, defaults}, library {name, path, real, size, by}, compat
{path, real, note?}, toolkit {path, real, parts}, nvcc {path, real};
engine, cdi, package, engines (see gather_engines.py); mps {path, there, opens}: the MPS daemon's pipe folder;
python {prefix, ...} (see pythons.py), elf {path, needed, rpath, runpath} and code {path, ...} from the injected tools;
end {}: the pass came to its end.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional

from .env_names import pick
from .files import Emit, Files
from .gather_engines import gather_engines
from .gather_host import gather_disks, gather_host, gather_process, kernel_side
from .gather_links import gather_links
from .loader import gather_loader
from .path_words import clean
from .pythons import gather_pythons

MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nvidia_fs", "nouveau", "vfio_pci")


def gather(
    emit: Emit,
    root: str = "/",
    env: Optional[Mapping[str, str]] = None,
    tools: Any = None,
    options: Optional[Mapping[str, Any]] = None,
    files: Optional[Files] = None,
) -> None:
    """Emit all raw lines for the machine (or root folder) at `root`, or for what `files` looks through.

    `env`: the patient's environment variables; None where they are not known (a root folder). `tools`: an object with
    elf(path), code(path, ...), ldcache(bytes), note(path), archs(path), libc(path), each returning JSON-able values or
    None; without it those lines are left out. `options`: see `pythons.py`; `devices`: False where `gather_devices` has
    run already; `live`: whether the root is the running system (default: root is /).
    """
    options = dict(options or {})
    files = files or Files(emit, root)
    live = bool(options.get("live", not files.root))
    variables = {clean(k): clean(v) for k, v in (env or {}).items()}
    if options.get("devices", True):
        gather_devices(emit, root)
    if env is not None:
        emit({"at": "env", "values": pick(variables)})
    if live:
        gather_process(emit)
    gather_host(files, tools)
    if env is not None and files.kind("/proc/driver/nvidia/version"):
        _mps(files, variables.get("CUDA_MPS_PIPE_DIRECTORY") or "/tmp/nvidia-mps")
    if kernel_side(files):
        _pci(files)
    loader = gather_loader(files, env if env is None else variables, tools)
    chosen = gather_pythons(files, env if env is None else variables, tools, options, loader)
    if live:
        gather_disks(emit, variables, chosen)
    if kernel_side(files):
        gather_engines(files, variables, live)
    emit({"at": "end"})


def _mps(files: Files, folder: str) -> None:
    """Whether the control pipe of the MPS daemon is in the folder where CUDA looks for it, and can be opened."""
    control = folder.rstrip("/") + "/control"
    there = bool(files.kind(control))
    files.emit({"at": "mps", "path": clean(folder), "there": there, "opens": there and files.writable(control)})


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


def _driver(files: Files) -> None:
    files.text("/proc/driver/nvidia/version", 4096)
    files.text("/proc/driver/nvidia/params", 16384)
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
    gpus = []
    for address in files.first(files.names(base, lambda name: False) or [], 8192, "pci-devices"):
        alias = files.peek(base + "/" + address + "/modalias", 256)
        if alias is None:
            files.emit({"at": "pci", "address": clean(address), "modalias": None, "driver": None})
        elif "bc03" in alias or ("v000010DE" in alias and "bc06sc80" in alias):
            driver = os.path.basename(files.readlink(base + "/" + address + "/driver"))
            files.emit({"at": "pci", "address": clean(address), "modalias": alias.strip(), "driver": driver or None})
            if "v000010DE" in alias and "bc03" in alias:
                gpus.append(address)
    gather_links(files, gpus)
