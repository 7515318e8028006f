"""What a value says, by what its key means: one small function each, to facts of the Snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..formats.versions import cuda_from_int, cudnn_from_int, parse_torch
from . import values
from .statement import Line, Statement, say

Reader = Callable[[str, Line], Iterator[Statement]]


def statements(kind: str, value: str, line: Line) -> Iterator[Statement]:
    """Statements of a value of this kind; none where the value cannot be read."""
    value = value.strip().strip("'\"`").strip()
    if value[:1] == "(" and value.endswith(")"):
        return  # a description, not a value
    simple = _SIMPLE.get(kind)
    if simple:
        path, convert = simple
        read = convert(value)
        if read is not None:
            yield say(path, read, line)
        return
    reader = _READERS.get(kind)
    if reader:
        yield from reader(value, line)


def _torch(value: str, line: Line) -> Iterator[Statement]:
    version = values.torch(value)
    if version is None:
        if value.lower() in ("not installed", "none"):
            yield say("torch.version", values.GONE, line)
        return
    yield say("torch.version", version, line)
    parts = parse_torch(version)
    if parts and parts.build in ("cuda", "cpu", "rocm", "xpu"):
        yield say("torch.build", parts.build, line, weak=True)
        if parts.build == "cuda" and parts.toolkit:
            yield say("torch.cuda", parts.toolkit, line, weak=True)


def _torch_cuda(value: str, line: Line) -> Iterator[Statement]:
    version = values.cuda(value)
    if version:
        yield say("torch.cuda", version, line)
        yield say("torch.build", "cuda", line, weak=True)
    elif value.lower() in ("none", "no", "null"):
        yield say("torch.cuda", values.GONE, line)
    elif value.lower() == "could not collect":
        yield say("torch.cuda.none", True, line)


def _hip(value: str, line: Line) -> Iterator[Statement]:
    if re.match(r"\d{1,2}\.\d", value):
        yield say("torch.hip", value.split()[0], line)
        yield say("torch.build", "rocm", line)


def _torch_build(value: str, line: Line) -> Iterator[Statement]:
    word = value.lower()
    for kind in ("cpu", "cuda", "rocm", "xpu"):
        if word.startswith(kind):
            yield say("torch.build", kind, line)


def _os(value: str, line: Line) -> Iterator[Statement]:
    name = re.sub(r"\s{0,3}\((?:x86_64|aarch64|arm64|amd64|AMD64|ARM64)\)$", "", value)
    arch = re.search(r"\((x86_64|aarch64|arm64|amd64)\)$", value, re.I)
    if arch:
        yield say("host.architecture", _arch(arch[1]), line)
    if not name or ("/" in name[:30] and " / " in name):
        return
    lower = name.lower()
    if "windows" in lower and "wsl" not in lower:
        yield say("host.system.windows", True, line)
    elif lower.startswith(("macos", "mac os", "darwin")):
        yield say("host.system", "darwin", line)
    elif lower not in ("n/a", "none"):
        yield say("host.system", "linux", line, weak=True)
    yield say("host.os_name", name, line)
    found = re.match(
        r"(ubuntu|debian|fedora|centos|rhel|rocky|almalinux|arch|opensuse|alpine)\b[^\d]{0,40}(\d{1,2}(?:\.\d{1,2})?)?",
        lower,
    )
    if found:
        yield say("host.os_id", found[1], line)
        if found[2]:
            yield say("host.os_version", found[2], line)
    if "microsoft" not in lower and "wsl2" in lower:
        yield say("host.wsl", 2, line)


def _arch(text: str) -> str | None:
    word = text.strip().lower()
    return {"amd64": "x86_64", "x86_64": "x86_64", "x64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}.get(word)


def _platform(value: str, line: Line) -> Iterator[Statement]:
    found = re.match(
        r"(Linux|Windows|macOS)-([\w.+~-]{1,120}?)(?:-(x86_64|aarch64|arm64|AMD64))?(?:-with-|-\d{2}bit|$|-SP)", value
    )
    if not found:
        return
    if found[1] == "Windows":
        yield say("host.system", "windows", line)
    elif found[1] == "macOS":
        yield say("host.system", "darwin", line)
    else:
        yield say("host.system", "linux", line)
        yield from _kernel(found[2], line)
    if found[3]:
        yield say("host.architecture", _arch(found[3]), line)


def _kernel(value: str, line: Line) -> Iterator[Statement]:
    found = re.search(r"(?<![\w.])(\d{1,2}\.\d{1,3}[\w.+~-]{0,100})", value)
    if not found:
        return
    kernel = re.sub(r"-(?:x86_64|aarch64)$", "", found[1])
    yield say("host.kernel", kernel, line)
    lower = kernel.lower()
    if "microsoft" in lower:
        yield say("host.wsl", 2 if "wsl2" in lower or "microsoft-standard" in lower else 1, line)
        yield say("host.system", "linux", line)


def _wsl(value: str, line: Line) -> Iterator[Statement]:
    found = re.match(r"(?:wsl\s?)?([012])\b", value, re.I)
    if found:
        yield say("host.wsl", int(found[1]), line)
    elif values.yes_no(value) is False:
        yield say("host.wsl", 0, line)


def _container(value: str, line: Line) -> Iterator[Statement]:
    flag = values.yes_no(value)
    if flag is False:
        yield say("container.kind", "none", line)
    elif flag is True:
        yield say("container.kind", "other", line, weak=True)
    else:
        yield from _runtime(value, line)


def _runtime(value: str, line: Line) -> Iterator[Statement]:
    word = value.lower()
    for name, kind in (("podman", "podman"), ("docker", "docker"), ("singularity", "apptainer"), ("apptainer", "apptainer"),
                       ("containerd", "containerd"), ("nerdctl", "containerd"), ("gvisor", "gvisor"), ("lxc", "lxc"),
                       ("kubernetes", "kubernetes"), ("rootless", "other"), ("crio", "containerd"), ("cri-o", "containerd"),
                       ("nvidia", "docker")):  # fmt: skip
        if name in word:
            yield say("container.kind", kind, line, weak=kind == "other")
            return


def _image(value: str, line: Line) -> Iterator[Statement]:
    if value.lower() not in values.NOTHING:
        yield say("container.kind", "other", line, weak=True)
        if "singularity" in value.lower() or "apptainer" in value.lower():
            yield say("container.kind", "apptainer", line)


def _kubernetes(value: str, line: Line) -> Iterator[Statement]:
    if values.yes_no(value) is not False:
        yield say("host.scheduler", "kubernetes", line)


def _scheduler(value: str, line: Line) -> Iterator[Statement]:
    if value.lower() not in values.NOTHING:
        yield say("host.scheduler", value.lower().split()[0], line)


def _flavour(value: str, line: Line) -> Iterator[Statement]:
    word = value.lower()
    if "open" in word or "dual mit" in word:
        yield say("driver.kernel_flavour", "open", line)
    elif "proprietary" in word or "closed" in word:
        yield say("driver.kernel_flavour", "proprietary", line)


def _modules(value: str, line: Line) -> Iterator[Statement]:
    names = tuple(
        dict.fromkeys(
            re.findall(r"\b(nvidia(?:_\w{1,12})?|nouveau|vfio_pci|nova_core|nova)\b", value.replace("-", "_"))
        )
    )
    if names:
        yield say("driver.modules", names, line)
        if "nouveau" in names:
            yield say("driver.nouveau_loaded", True, line)


def _arch_list(value: str, line: Line) -> Iterator[Statement]:
    found = values.archs(value)
    if found:
        yield say("torch_run.arch_list", found, line)


def _cuda_code(value: str, line: Line) -> Iterator[Statement]:
    code = values.number(value)
    if code is not None and 0 < code < 1000:
        yield say("torch_run.first_call_code", code, line)


def _compute_mode(value: str, line: Line) -> Iterator[Statement]:
    word = value.lower().replace("_", "-").replace(" ", "-").replace("e.-process", "exclusive-process")
    for mode in ("exclusive-process", "exclusive-thread", "prohibited", "default"):
        if word.startswith(mode):
            yield say("gpu.compute_mode", mode, line)


def _mig(value: str, line: Line) -> Iterator[Statement]:
    flag = values.yes_no(value)
    if flag is not None:
        yield say("gpu.mig_enabled", flag, line)


def _gpu_name(value: str, line: Line) -> Iterator[Statement]:
    from .gpus import gpu_statements

    yield from gpu_statements(value, line)


def _capability(value: str, line: Line) -> Iterator[Statement]:
    cc = values.capability(value)
    if cc:
        yield say("gpu.compute_capability", cc, line)


def _jetpack(value: str, line: Line) -> Iterator[Statement]:
    if re.match(r"[\dRr]", value):
        yield say("jetson", True, line)


def _memlock(value: str, line: Line) -> Iterator[Statement]:
    size = -1 if "unlimited" in value.lower() else values.number(value)
    if size is not None:
        yield say("host.memlock_kib", size, line)


def _shm(value: str, line: Line) -> Iterator[Statement]:
    found = re.match(r"(\d{1,9})(?:\.\d{1,3})?\s{0,2}(k|m|g)?", value, re.I)
    if found:
        size = int(found[1])
        unit = (found[2] or "m").lower()
        yield say("host.shm_mib", size * 1024 if unit == "g" else size // 1024 if unit == "k" else size, line)


def _driver(value: str, line: Line) -> Iterator[Statement]:
    version = values.driver(value)
    if version:
        yield say("driver.nvml_driver_version", version, line, weak="." not in version)


def _driver_cuda_int(value: str) -> str | None:
    code = values.number(value)
    return cuda_from_int(code) if code is not None else None


def _cudnn_int(value: str) -> str | None:
    code = values.number(value)
    return cudnn_from_int(code) if code is not None else None


def _text(value: str) -> str | None:
    return value if value.lower() not in values.NOTHING else None


_SIMPLE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "cuda_available": ("torch_run.cuda_available", values.yes_no),
    "debug": ("torch.debug", lambda value: None),
    "libc": ("host.libc", lambda v: f"glibc {m[1]}" if (m := re.search(r"(?<![\w.])(?:glibc-)?(\d\.\d{1,2})\b", v)) and "musl" not in v else None),
    "gcc": ("cuda.gcc_version", lambda v: m[1] if (m := re.search(r"(?<![\w.~-])(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)", v)) else None),
    "python": ("python.patient.version", values.python),
    "nvcc": ("cuda.nvcc_version", values.cuda),
    "driver_cuda": ("driver.nvml_cuda_version", values.cuda),
    "driver_cuda_int": ("driver.cuda_version", _driver_cuda_int),
    "arch": ("host.architecture", _arch),
    "module_version": ("driver.kernel_version", values.driver),
    "nvml_version": ("driver.nvml_library_version", values.driver),
    "device_count": ("torch_run.device_count", values.number),
    "secure_boot": ("host.secure_boot", values.yes_no),
    "abi": ("torch.cxx11_abi", values.yes_no),
    "provider": ("host.provider", lambda v: _text(v.lower())),
    "capabilities": ("container.driver_capabilities", _text),
    "installer": ("torch.installer", _text),
    "libcuda_path": ("driver.libcuda_path", lambda v: v if v.startswith("/") else None),
    "cudnn_bundled": ("torch.cudnn_bundled", _cudnn_int),
    "virtualization": ("host.virtualization", lambda v: _text(v.lower())),
    "cpus": ("host.cpu_cores", values.number),
}  # fmt: skip

_READERS: dict[str, Reader] = {
    "torch": _torch, "torch_cuda": _torch_cuda, "hip": _hip, "torch_build": _torch_build, "os": _os,
    "platform": _platform, "kernel": _kernel, "wsl": _wsl, "container": _container, "container_runtime": _runtime,
    "image": _image, "kubernetes": _kubernetes, "scheduler": _scheduler, "flavour": _flavour, "modules": _modules,
    "arch_list": _arch_list, "cuda_code": _cuda_code, "compute_mode": _compute_mode, "mig": _mig,
    "gpu_name": _gpu_name, "gpus_line": _gpu_name, "capability": _capability, "jetpack": _jetpack,
    "memlock": _memlock, "shm": _shm, "driver": _driver,
}  # fmt: skip
