"""From a value to facts of the Snapshot, depending on what its key means: one small function for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..formats.versions import cuda_from_int, cudnn_from_int
from . import host_facts, values
from .packages import package_statements, torch_statements
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
        if word.startswith(kind) or re.match(rf"py\d\S{{0,8}}_{kind}", word):  # conda's build string
            yield say("torch.build", kind, line)


def _flavour(value: str, line: Line) -> Iterator[Statement]:
    if found := re.search(r"(open|dual mit)|(proprietary|closed)", value.lower()):  # the first word of them counts
        yield say("driver.kernel_flavour", "open" if found[1] else "proprietary", line)


def _modules(value: str, line: Line) -> Iterator[Statement]:
    names = tuple(
        dict.fromkeys(
            re.findall(r"\b(nvidia(?:_\w{1,12})?|nouveau|vfio_pci|nova_core|nova)\b", value.replace("-", "_"))
        )
    )
    if names:
        yield say("driver.modules", names, line)
        if "nouveau" in names and "nvidia" not in value:  # lspci lists what could drive a card, not what does
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

    rows = list(gpu_statements(value, line))
    yield from rows
    if rows and rows[0].value["index"] is None:  # a list of boards; a bare word behind a comma is none
        for part in values.items(value)[1:]:
            for row in gpu_statements(part, line):
                if re.search(r"\d", row.value["name"] or ""):
                    yield row


def _capability(value: str, line: Line) -> Iterator[Statement]:
    cc = values.capability(value)
    if cc:
        yield say("gpu.compute_capability", cc, line)


def _capability_list(value: str, line: Line) -> Iterator[Statement]:
    """`['6.1', '8.6']`: one for each GPU, in their order."""
    for index, cc in enumerate(re.findall(r"\b(\d{1,2}\.\d)\b", value)[:64]):
        yield say("gpu", {"index": index, "name": None, "count": 1, "vendor": "nvidia", "compute_capability": cc}, line)


def _capability_of(value: str, line: Line) -> Iterator[Statement]:
    """`0,1,2=9.0`: of these GPUs."""
    numbers, _, capability = value.partition("=")
    for number in numbers.split(",")[:64]:
        if number.isdecimal():
            fields = {"index": int(number), "name": None, "count": 1, "vendor": "nvidia"}
            yield say("gpu", {**fields, "compute_capability": values.capability(capability)}, line)


def _driver_cuda(value: str, line: Line) -> Iterator[Statement]:
    """Some tools say 'CUDA driver version' and mean the driver's."""
    if version := values.cuda(value):
        yield say("driver.nvml_cuda_version", version, line)
    elif re.match(r"\d{3}\.\d", value):
        yield from _driver(value, line)


def _package(value: str, line: Line) -> Iterator[Statement]:
    name, _, version = value.partition(" ")
    yield from package_statements(name, version, "", line)


def _variable(value: str, line: Line) -> Iterator[Statement]:
    name, _, content = value.partition("=")
    yield say("variable", (name, content), line)


def _jetpack(value: str, line: Line) -> Iterator[Statement]:
    if re.match(r"[\dRr]", value):
        yield say("jetson", True, line)


def _driver(value: str, line: Line) -> Iterator[Statement]:
    version = values.driver(value)
    if version:
        yield say("driver.nvml_driver_version", version, line, weak="." not in version)
        if words := re.search(r"\b(open|proprietary)\b", value[:80], re.I):
            yield say("driver.kernel_flavour", words[1].lower(), line, weak=True)


def _driver_cuda_int(value: str) -> str | None:
    code = values.number(value)
    return cuda_from_int(code) if code is not None else None


def _cudnn_int(value: str) -> str | None:
    code = values.number(value)
    return cudnn_from_int(code) if code is not None else None


def _nccl(value: str) -> str | None:
    return value if re.fullmatch(r"\d{1,2}\.\d{1,2}(?:\.\d{1,2})?", value) else None


def _python_path(value: str) -> str | None:
    found = re.search(r"[/\\]python(3\.\d{1,2})[/\\]", value)
    return found[1] if found else None


def _libc(value: str) -> str | None:
    found = re.search(r"(?<![\w.])(?:glibc-)?(\d\.\d{1,2})\b", value)
    return f"glibc {found[1]}" if found and "musl" not in value else None


def _gcc(value: str) -> str | None:
    found = re.search(r"(?<![\w.~-])(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)", value)
    return found[1] if found else None


def _text(value: str) -> str | None:
    return value if value.lower() not in values.NOTHING else None


_SIMPLE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "cuda_available": ("torch_run.cuda_available", values.yes_no),
    "debug": ("torch.debug", lambda value: None),
    "libc": ("host.libc", _libc),
    "gcc": ("cuda.gcc_version", _gcc),
    "python": ("python.patient.version", values.python),
    "nvcc": ("cuda.nvcc_version", values.cuda),
    "driver_cuda_int": ("driver.cuda_version", _driver_cuda_int),
    "arch": ("host.architecture", host_facts.arch),
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
    "nccl": ("torch_run.nccl_version", _nccl),
    "cudnn_built": ("torch.cudnn_bundled", _nccl),
    "python_path": ("python.patient.version", _python_path),
    "highest_capability": ("gpu.highest_capability", values.capability),
    "libcuda_version_plain": ("driver.libcuda_version", values.driver_of_ints),
    "module_version_plain": ("driver.kernel_version", values.driver_of_ints),
    "sys_platform": ("host.system", {"linux": "linux", "win32": "windows", "darwin": "darwin"}.get),
}  # fmt: skip

_READERS: dict[str, Reader] = {
    "torch": torch_statements, "torch_cuda": _torch_cuda, "hip": _hip, "torch_build": _torch_build,
    "os": host_facts.os_name,
    "platform": host_facts.platform, "kernel": host_facts.kernel,
    "wsl": host_facts.wsl, "container": host_facts.container,
    "container_runtime": host_facts.runtime, "image": host_facts.image, "kubernetes": host_facts.kubernetes,
    "scheduler": host_facts.scheduler, "flavour": _flavour, "modules": _modules, "arch_list": _arch_list,
    "cuda_code": _cuda_code, "compute_mode": _compute_mode, "mig": _mig, "gpu_name": _gpu_name,
    "gpus_line": _gpu_name, "capability": _capability, "jetpack": _jetpack, "memlock": host_facts.memlock,
    "shm": host_facts.shm, "driver": _driver, "driver_cuda": _driver_cuda,
    "capability_of": _capability_of, "capability_list": _capability_list, "package": _package,
    "variable": _variable,
}  # fmt: skip
