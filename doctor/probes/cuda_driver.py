"""Raw lines of the libcuda agent (doctor/patient/cuda_driver.py) to facts about the CUDA driver and its devices."""

from __future__ import annotations

from typing import Any

from ..snapshot import CudaDevice, Gpu, Missing
from .agent_lines import (
    AgentResult,
    Line,
    call_faults,
    cuda_version,
    fault_missing,
    is_whole,
    library_missing,
    library_version,
)
from .nvml_health import UNREADABLE
from .nvml_links import pci_address

SONAME = "libcuda.so.1"
STUB_LIBRARY = 34
MAX_DEVICES = 256
_LIBRARY = ("driver.libcuda_path", "driver.libcuda_version", "driver.libcuda_stub")
_ANSWERS = ("driver.cu_init", "driver.cu_init_name", "driver.cuda_version", "driver.cuda_devices")


def parse_cuda_driver(result: AgentResult) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """(changes for Snapshot.replace, witnesses). Facts of which nothing was said are Missing with the reason."""
    gap = fault_missing(result)
    answers: dict[tuple[Any, str], Line] = {}
    for line in result.lines:
        device, name = line.get("device"), line.get("field")
        if isinstance(name, str) and isinstance(device, (int, type(None))):
            answers[device, name] = line
    changes: dict[str, Any] = dict.fromkeys(_ANSWERS, gap)
    changes["driver.faults"] = call_faults(result, "cuda")
    witnesses: dict[str, tuple[str, ...]] = {
        "driver.cu_init": ("cuInit",),
        "driver.cuda_version": ("cuDriverGetVersion",),
        "driver.cuda_devices": ("cuDeviceGet...",),
    }
    library = answers.get((None, "library"))
    if library is not None and "error" in library:
        missing = library_missing(str(library.get("text", "")), SONAME)
        changes.update(dict.fromkeys((*_LIBRARY, *_ANSWERS), missing))
        return changes, witnesses
    if library is not None:
        path = str(library.get("value", SONAME))
        changes["driver.libcuda_path"], changes["driver.libcuda_version"] = path, library_version(path)
        witnesses["driver.libcuda_path"] = witnesses["driver.libcuda_version"] = (path,)
    version = _whole(answers, None, "version", gap)
    changes["driver.cuda_version"] = version if isinstance(version, Missing) else cuda_version(version)
    _init(answers, gap, changes)
    return changes, witnesses


def _init(answers: dict[tuple[Any, str], Line], gap: Missing, changes: dict[str, Any]) -> None:
    line = answers.get((None, "init"))
    if line is None:
        return
    code = line.get("error", line.get("value"))
    if not is_whole(code) or code < 0:
        why = Missing("error", str(line.get("text", "unreadable answer"))[:200])
        changes["driver.cu_init"] = changes["driver.cu_init_name"] = changes["driver.cuda_devices"] = why
        return
    name = line.get("name") if code else "CUDA_SUCCESS"
    changes["driver.cu_init"] = code
    changes["driver.cu_init_name"] = (
        name if isinstance(name, str) else Missing("absent", "libcuda has no name for this code")
    )
    if code == STUB_LIBRARY:
        changes["driver.libcuda_stub"] = True
    if code:
        changes["driver.cuda_devices"] = Missing("error", f"cuInit: {code} {name or ''}".rstrip())
        return
    count = _whole(answers, None, "count", gap)
    if isinstance(count, Missing):
        changes["driver.cuda_devices"] = count
    else:
        devices = range(min(max(count, 0), MAX_DEVICES))
        changes["driver.cuda_devices"] = tuple(_device(answers, ordinal, gap) for ordinal in devices)


def _device(answers: dict[tuple[Any, str], Line], ordinal: int, gap: Missing) -> CudaDevice:
    def whole(name: str) -> int | Missing:
        return _whole(answers, ordinal, name, gap)

    name, bus, uuid = (_value(answers, ordinal, field, gap) for field in ("name", "pci", "uuid"))
    parent = _value(answers, ordinal, "gpu_uuid", gap)
    mig = isinstance(parent, str) and parent != uuid  # version 2 of the call names the MIG device, version 1 the GPU
    if not isinstance(uuid, Missing):
        uuid = full_uuid(uuid, "MIG-" if mig else "GPU-")
    major, minor, memory, integrated = whole("major"), whole("minor"), whole("memory_total"), whole("integrated")
    capability = major if isinstance(major, Missing) else minor if isinstance(minor, Missing) else f"{major}.{minor}"
    return CudaDevice(
        ordinal=ordinal,
        name=name if isinstance(name, (str, Missing)) else UNREADABLE,
        uuid=uuid,
        compute_capability=capability,
        pci_address=pci_address(bus) if isinstance(bus, str) else bus if isinstance(bus, Missing) else UNREADABLE,
        memory_total_mib=memory if isinstance(memory, Missing) else memory >> 20,
        peers=_peers(_value(answers, ordinal, "peers", gap)),
        integrated=integrated if isinstance(integrated, Missing) else bool(integrated),
    )


def _peers(value: Any) -> tuple[int, ...] | Missing:
    if isinstance(value, Missing):
        return value
    return tuple(value) if isinstance(value, list) and all(is_whole(peer) for peer in value) else UNREADABLE


def _value(answers: dict[tuple[Any, str], Line], device: int | None, name: str, gap: Missing) -> Any:
    line = answers.get((device, name))
    if line is None:
        line = None if device is None else answers.get((device, "handle"))
        if line is None or "error" not in line:
            return gap
    if "error" in line:
        words = " ".join(str(word) for word in (line.get("error"), line.get("name") or line.get("text")) if word)
        return Missing("absent" if line["error"] == -2 else "error", words[:200])
    return line.get("value")


def _whole(answers: dict[tuple[Any, str], Line], device: int | None, name: str, gap: Missing) -> int | Missing:
    value = _value(answers, device, name, gap)
    return value if isinstance(value, Missing) or is_whole(value) else UNREADABLE


def full_uuid(digits: Any, prefix: str) -> str | Missing:
    """32 hex digits as NVML writes a UUID: GPU-8-4-4-4-12."""
    if not isinstance(digits, str) or len(digits) != 32:
        return UNREADABLE
    return prefix + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def with_cuda(gpus: tuple[Gpu, ...], devices: tuple[CudaDevice, ...]) -> tuple[Gpu, ...]:
    """NVML's GPUs with what only libcuda knows (`integrated`), matched by UUID, else by PCI address."""
    by_identifier = {
        identifier: device
        for device in devices
        for identifier in (device.uuid, device.pci_address)
        if isinstance(identifier, str)
    }
    done = []
    for gpu in gpus:
        device = next(
            (by_identifier[identifier] for identifier in (gpu.uuid, gpu.pci_address) if identifier in by_identifier),
            None,
        )
        done.append(gpu if device is None else gpu.with_(integrated=device.integrated))
    return tuple(done)
