"""Raw lines of the NVML agent (doctor/patient/nvml.py) to facts about the driver, its GPUs and their pairs."""

from __future__ import annotations

from typing import Any

from ..snapshot import NOT_ASKED, Gpu, GpuPair, Missing
from .agent_lines import (
    AgentResult,
    call_faults,
    cuda_version,
    fault_missing,
    is_whole,
    library_missing,
    library_version,
)
from .nvml_gpu import Fields, nvml_missing, parse_gpu
from .nvml_links import link_ends

SONAME = "libnvidia-ml.so.1"
MAX_GPUS = 256


def parse_nvml(result: AgentResult) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """(changes for Snapshot.replace, witnesses). Facts of which nothing was said are Missing with the reason."""
    gap = fault_missing(result)
    fields = Fields(result.lines, gap)
    changes: dict[str, Any] = {
        "driver.nvml_init": gap,
        "driver.nvml_init_text": gap,
        "driver.nvml_driver_version": gap,
        "driver.nvml_cuda_version": gap,
        "driver.nvml_gpu_count": gap,
        "gpus": gap,
        "gpu_pairs": gap,
        "driver.faults": call_faults(result, "nvml"),
    }
    why = _library(fields, changes) or _init(fields, changes)
    if why is not None:
        for name in ("driver_version", "cuda_version", "gpu_count"):
            changes[f"driver.nvml_{name}"] = why
        changes["gpus"] = changes["gpu_pairs"] = why
    else:
        changes["driver.nvml_driver_version"] = fields.text("driver_version")
        version = fields.whole("cuda_version")
        changes["driver.nvml_cuda_version"] = version if isinstance(version, Missing) else cuda_version(version)
        count = changes["driver.nvml_gpu_count"] = fields.whole("count")
        if isinstance(count, Missing):
            changes["gpus"] = changes["gpu_pairs"] = count
        else:
            gpus = _gpus(fields, min(max(count, 0), MAX_GPUS))
            changes["gpus"] = gpus
            changes["gpu_pairs"] = _pairs(fields, gpus) if fields.pairs or len(gpus) < 2 else gap
    library = changes.get("driver.nvml_library_path")
    calls = {
        "driver.nvml_init": "nvmlInit",
        "driver.nvml_driver_version": "nvmlSystemGetDriverVersion",
        "driver.nvml_cuda_version": "nvmlSystemGetCudaDriverVersion",
        "driver.nvml_gpu_count": "nvmlDeviceGetCount",
        "gpus": "nvmlDeviceGet...",
    }
    witnesses: dict[str, tuple[str, ...]] = {path: (call,) for path, call in calls.items()}
    if isinstance(library, str):
        witnesses["driver.nvml_library_path"] = witnesses["driver.nvml_library_version"] = (library,)
    return changes, witnesses


def _library(fields: Fields, changes: dict[str, Any]) -> Missing | None:
    """Fill in the library's facts; why nothing else can be known, where it did not load."""
    line = fields.line("library")
    if line is None:
        return fields.gap if fields.line("binding") is None else None
    if "error" in line:
        missing = library_missing(str(line.get("text", "")), SONAME)
        for name in ("nvml_library_path", "nvml_library_version", "nvml_init", "nvml_init_text"):
            changes[f"driver.{name}"] = missing
        return missing
    path = str(line.get("value", SONAME))
    changes["driver.nvml_library_path"] = path
    changes["driver.nvml_library_version"] = library_version(path)
    return None


def _init(fields: Fields, changes: dict[str, Any]) -> Missing | None:
    """Fill in nvmlInit's code; why nothing else can be known, where it failed."""
    line = fields.line("init")
    if line is None:
        binding = fields.line("binding")
        why = fields.gap
        if binding is not None and "error" in binding:
            why = Missing("error", f"nvidia-ml-py: {str(binding.get('text', ''))[:200]}")
        changes["driver.nvml_init"] = changes["driver.nvml_init_text"] = why
        return why
    code = line.get("error", line.get("value"))
    if not is_whole(code) or code < 0:
        why = Missing("error", str(line.get("text", "unreadable answer"))[:200])
        changes["driver.nvml_init"] = changes["driver.nvml_init_text"] = why
        return why
    text = str(line.get("text", "Success" if code == 0 else ""))
    changes["driver.nvml_init"], changes["driver.nvml_init_text"] = code, text
    return None if code == 0 else Missing("denied" if code == 4 else "error", f"nvmlInit: {code} {text}")


def _gpus(fields: Fields, count: int) -> tuple[Gpu, ...]:
    gpus: list[Gpu] = []
    for index in range(count):
        gpu = parse_gpu(fields, index)
        if any(gpu.key == other.key for other in gpus):
            gpu = gpu.with_(key=f"gpu-{index}")
        gpus.append(gpu)
    return tuple(gpus)


def _pairs(fields: Fields, gpus: tuple[Gpu, ...]) -> tuple[GpuPair, ...]:
    pairs = []
    for key in fields.pairs:
        if 0 <= key[0] < len(gpus) and 0 <= key[1] < len(gpus):
            answers = fields.pairs[key]
            values = {
                name: nvml_missing(line) if "error" in line else line.get("value") for name, line in answers.items()
            }
            numbers = {
                name: value if isinstance(value, Missing) or is_whole(value) else Missing("error", "unreadable answer")
                for name, value in values.items()
            }
            p2p, topology = numbers.get("p2p_read", fields.gap), numbers.get("topology", fields.gap)
            nvlink = numbers.get("p2p_nvlink", NOT_ASKED)  # recordings before it was asked for have none
            a, b = (gpus[at] for at in key)
            ends = link_ends(fields.value("nvlink_ends", key[0]))
            links = ends if isinstance(ends, Missing) else sum(address == b.pci_address for address, _ in ends)
            pairs.append(GpuPair(a=a.key, b=b.key, p2p_read=p2p, p2p_nvlink=nvlink, topology=topology, nvlinks=links))
    return tuple(pairs)
