"""Driver facts that files tell: kernel module, device nodes, user-space libraries on the loader's path."""

from __future__ import annotations

import re
from typing import Any, Literal

from ..formats.lazy import lazy
from ..snapshot import DeviceNode, Driver, LibraryFile, Missing, NodeKind
from .pci import parse_pci, parse_pcie_paths
from .raw import Raw, number, string

MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nvidia_fs", "nouveau", "vfio_pci")
_VERSION = lazy(r"\.so\.(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)$")
_PROC = "/proc/driver/nvidia/version"


def _mps_pipe(raw: Raw) -> str | Missing:
    row = raw.row("mps")
    if isinstance(row, Missing):
        return row
    path = string(row.get("path"))
    if row.get("opens") is True:
        return path
    return Missing("denied" if row.get("there") is True else "absent", path)


def parse_driver_files(raw: Raw) -> Driver:
    """Everything in Driver that needs no NVIDIA library."""
    proc_text = raw.text(_PROC)
    kernel = None
    if isinstance(proc_text, str):
        from ..formats.proc_nvidia import parse_driver_version

        kernel = parse_driver_version(proc_text)
    modules = _modules(raw)
    gpus = raw.names("/proc/driver/nvidia/gpus")
    nvml = loaded_library(raw, "libnvidia-ml.so.1")
    cuda = loaded_library(raw, "libcuda.so.1")
    flavour: Literal["open", "proprietary"] | Missing = (
        proc_text if isinstance(proc_text, Missing) else Missing("error")
    )
    if kernel:
        flavour = "open" if kernel.flavour == "open" else "proprietary"
    return Driver(
        kernel_version=_kernel_version(raw, kernel.version if kernel else None),
        kernel_flavour=flavour,
        modules=modules,
        device_file_mode=_device_file_mode(raw),
        nouveau_loaded=modules if isinstance(modules, Missing) else "nouveau" in modules,
        module_built=_built(raw, modules),
        mps_pipe=_mps_pipe(raw),
        device_nodes=_nodes(raw),
        pci_devices=parse_pci(raw),
        pcie_paths=parse_pcie_paths(raw),
        proc_gpus=gpus if isinstance(gpus, Missing) else len(gpus),
        nvml_library_path=nvml if isinstance(nvml, Missing) else string(nvml.get("real")),
        nvml_library_version=nvml if isinstance(nvml, Missing) else file_version(string(nvml.get("real"))),
        libcuda_path=cuda if isinstance(cuda, Missing) else string(cuda.get("real")),
        libcuda_version=cuda if isinstance(cuda, Missing) else file_version(string(cuda.get("real"))),
        libcuda_stub=cuda if isinstance(cuda, Missing) else is_stub(cuda),
        libcuda_candidates=_candidates(raw),
    )


def _kernel_version(raw: Raw, proc: str | None) -> str | Missing:
    if proc:
        return proc
    text = raw.text("/sys/module/nvidia/version")
    if isinstance(text, str) and re.match(r"\d{2,4}\.\d", text):
        return text.strip()
    proc_text = raw.text(_PROC)
    if isinstance(proc_text, str):
        return Missing("error", "the version in /proc/driver/nvidia/version could not be parsed")
    return proc_text


def _modules(raw: Raw) -> tuple[str, ...] | Missing:
    there = raw.exists("/sys/module")
    if isinstance(there, Missing):
        return there
    if not there:
        return Missing("absent", "no /sys/module here")
    return tuple(name for name in MODULES if raw.exists(f"/sys/module/{name}") is True)


def _device_file_mode(raw: Raw) -> int | Missing:
    text = raw.text("/proc/driver/nvidia/params")
    if isinstance(text, Missing):
        return text
    found = re.search(r"^DeviceFileMode: {0,8}(\d{1,4})\s*$", text, re.M)
    return int(found[1]) & 0o777 if found else Missing("error", "no DeviceFileMode in /proc/driver/nvidia/params")


def _built(raw: Raw, modules: tuple[str, ...] | Missing) -> bool | Missing:
    if not isinstance(modules, Missing) and "nvidia" in modules:
        return True
    row = raw.row("built")
    if isinstance(row, Missing):
        return row
    found = row.get("found")
    return found if isinstance(found, bool) else Missing("absent", "no modules for the running kernel here")


def _nodes(raw: Raw) -> tuple[DeviceNode, ...] | Missing:
    rows = raw.rows("node")
    if not rows and not raw.rows("nodes"):
        return raw.gap("/dev")
    found = []
    for row in rows:
        path, mode = string(row.get("path")), number(row.get("mode"))
        major, minor = number(row.get("major")), number(row.get("minor"))
        found.append(
            DeviceNode(
                path=path,
                kind=_node_kind(path.rpartition("/")[2], path),
                mode=mode or 0,
                uid=number(row.get("uid")) or 0,
                gid=number(row.get("gid")) or 0,
                readable=row.get("readable") is True,
                writable=row.get("writable") is True,
                character_device=row.get("character") is True,
                major=Missing("error") if major is None else major,
                minor=Missing("error") if minor is None else minor,
            )
        )
    return tuple(found)


def _node_kind(name: str, path: str) -> NodeKind:
    kinds: dict[str, NodeKind] = {
        "nvidiactl": "ctl", "nvidia-uvm": "uvm", "nvidia-uvm-tools": "uvm-tools", "nvidia-modeset": "modeset",
        "nvidia-nvswitchctl": "nvswitch", "dxg": "dxg", "nvmap": "tegra", "nvgpu": "tegra",
    }  # fmt: skip
    if name in kinds:
        return kinds[name]
    if "/nvidia-caps" in path:
        return "caps"
    if re.fullmatch(r"nvidia\d+", name):
        return "gpu"
    if name.startswith("nvidia-nvswitch"):
        return "nvswitch"
    if name.startswith("nvidia-nvlink") or "imex" in name:
        return "fabric"
    return "tegra" if name.startswith("nvhost-") else "other"


def loaded_library(raw: Raw, soname: str) -> dict[str, Any] | Missing:
    """The `library` line of the file that the loader would take; Missing(absent) if there is none."""
    if isinstance(raw.row("loader"), Missing):
        return raw.unasked
    for row in raw.rows("library"):
        if row.get("name") == soname and row.get("by") != "elsewhere" and (number(row.get("size")) or 0) > 0:
            return row
    return Missing("absent", f"the loader cannot find {soname}")


def file_version(path: str) -> str | Missing:
    """The driver version at the end of a library's name."""
    match = _VERSION.search(path)
    return match.group(1) if match else Missing("absent", "no version in the file's name")


def is_stub(row: dict[str, Any]) -> bool:
    """Whether a library lies in a toolkit's folder of link-time stubs."""
    return "/stubs/" in string(row.get("path")) or "/stubs/" in string(row.get("real"))


def _candidates(raw: Raw) -> tuple[LibraryFile, ...] | Missing:
    if isinstance(raw.row("loader"), Missing):
        return raw.unasked
    found = []
    for row in raw.rows("library"):
        if row.get("name") in ("libcuda.so.1", "libcuda.so"):
            real = string(row.get("real"))
            found.append(
                LibraryFile(
                    soname=string(row.get("name")),
                    path=string(row.get("path")),
                    real_path=real,
                    version=file_version(real),
                    size=max(number(row.get("size")) or 0, 0),
                    stub=is_stub(row),
                    found_by=string(row.get("by")),
                )
            )
    return tuple(found)
