"""Part of the agent nvml_sampler: one GPU's readings, and what is asked no more."""

from __future__ import annotations

import time

from .json_lines import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

MAX_PROCESSES = 256
RECEIVED = 1
"""nvmlPcieUtilCounter_t: what the GPU receives."""
NOT_FOUND = 6
FUNCTION_NOT_FOUND = 13
HOPELESS = (3, 4, FUNCTION_NOT_FOUND, 15, -2)
"""Not supported, no permission, no such call, GPU is lost, not in the binding: the same at the next sample."""

FIELDS = (
    ("utilization", "nvmlDeviceGetUtilizationRates", ()),
    ("memory_used", "nvmlDeviceGetMemoryInfo", (0x02000028,)),
    ("clock_sm", "nvmlDeviceGetClockInfo", (1,)),
    ("clock_memory", "nvmlDeviceGetClockInfo", (2,)),
    ("power_draw", "nvmlDeviceGetPowerUsage", ()),
    ("power_limit", "nvmlDeviceGetEnforcedPowerLimit", ()),
    ("temperature", "nvmlDeviceGetTemperature", (0,)),
    ("clock_event_reasons", "nvmlDeviceGetCurrentClocksThrottleReasons", ()),
    ("pcie_gen", "nvmlDeviceGetCurrPcieLinkGeneration", ()),
    ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", ()),
)
"""Field, function, further arguments. The event reasons by their old name: drivers before 535 have only that."""

PROCESSES = (
    ("processes", "nvmlDeviceGetComputeRunningProcesses_v3"),
    ("processes_mps", "nvmlDeviceGetMPSComputeRunningProcesses_v3"),
)
OLDER = {
    "nvmlDeviceGetMemoryInfo": lambda nvml, given: nvml.nvmlDeviceGetMemoryInfo(given[0]),
    "nvmlDeviceGetComputeRunningProcesses_v3": lambda nvml, given: nvml.nvmlDeviceGetComputeRunningProcesses_v2(*given),
}
"""What to call where an older libnvidia-ml lacks a function."""


class Gpu:
    """One GPU: its handle, its MIG devices' handles, and what is still asked of it."""

    def __init__(self, index: int, handle: Any) -> None:
        self.index = index
        self.handle = handle
        self.key = "gpu-%d" % index
        self.constants: Dict[str, int] = {}
        self.mig: List[Any] = []
        self.cap_written = False
        self.refused: Dict[str, int] = {}
        self.seen_until = int(time.time() * 1e6)
        """NVML's microseconds of the newest utilisation by process."""


class Readings(Lines):
    """Asks NVML about one GPU at a time."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.nvml: Any = None
        self.first_round = True

    def ask(self, gpu: "Optional[Gpu]", field: str, name: str, *given: Any) -> Any:
        """A call's answer; None where it has none, which is told once."""
        if gpu is not None and gpu.refused.get(field) in HOPELESS:
            return None
        if self.first_round:
            self.emit(begin=name) if gpu is None else self.emit(begin=name, gpu=gpu.index)
        try:
            try:
                return getattr(self.nvml, name)(*given)
            except self.nvml.NVMLError as error:
                if error.value != FUNCTION_NOT_FOUND or name not in OLDER:
                    raise
                return OLDER[name](self.nvml, given)
        except Exception as error:
            value = getattr(error, "value", None)
            code = value if isinstance(value, int) else -2
            if field == "process_utilization" and code in (0, NOT_FOUND):
                return []
            if gpu is None:
                self.emit(field=field, error=code, text=str(error)[:300])
            elif gpu.refused.get(field) != code:
                gpu.refused[field] = code
                self.emit(field=field, error=code, text=str(error)[:300], gpu=gpu.index)
            return None

    def sample(self, gpu: Gpu, with_received: bool) -> None:
        """Ask all of one GPU and write the line."""
        sample_line: Dict[str, Any] = {"time": round(time.monotonic(), 4), "gpu": gpu.index, "key": gpu.key}
        sample_line.update(gpu.constants)
        constant_count = len(sample_line)
        for field, name, given in FIELDS:
            value = self.ask(gpu, field, name, gpu.handle, *given)
            if value is None:
                continue
            if field == "utilization":
                sample_line["utilization"], sample_line["memory_utilization"] = value.gpu, value.memory
            else:
                sample_line[field] = value.used if field == "memory_used" else value
        processes = self.processes(gpu)
        if processes is not None:
            sample_line["processes"] = processes
        rates = self.process_utilization(gpu)
        if rates is not None:
            sample_line["process_utilization"] = rates
        if with_received:
            received = self.ask(gpu, "pcie_rx", "nvmlDeviceGetPcieThroughput", gpu.handle, RECEIVED)
            if received is not None:
                sample_line["pcie_rx"] = received
        if len(sample_line) > constant_count:
            self.emit(sample=sample_line)

    def processes(self, gpu: Gpu) -> "Optional[List[Tuple[int, Optional[int]]]]":
        """Each process with a compute context once, MPS and MIG devices included; None: NVML does not say."""
        found: Dict[int, Optional[int]] = {}
        answered = False
        for kind, name in PROCESSES:
            for at, handle in enumerate([gpu.handle, *gpu.mig]):  # the whole GPU may refuse what its MIG devices tell
                listed = self.ask(gpu, kind + ("_mig_%d" % (at - 1) if at else ""), name, handle)
                if listed is None:
                    continue
                answered = answered or kind == "processes"
                if len(listed) > MAX_PROCESSES and not gpu.cap_written:
                    gpu.cap_written = True
                    self.emit(cap="gpu-processes", looked=MAX_PROCESSES, listed=len(listed), path=gpu.key)
                for process in listed[:MAX_PROCESSES]:
                    memory = process.usedGpuMemory
                    found[process.pid] = max(memory, found.get(process.pid) or 0) if memory is not None else None
        return sorted(found.items()) if answered else None

    def process_utilization(self, gpu: Gpu) -> "Optional[List[Tuple[int, int]]]":
        """Percent of the SMs' time by process, mean of what NVML noted since it was asked last."""
        noted = self.ask(gpu, "process_utilization", "nvmlDeviceGetProcessUtilization", gpu.handle, gpu.seen_until)
        if noted is None:
            return None
        sums: Dict[int, Tuple[int, int]] = {}
        since = gpu.seen_until
        for entry in noted:
            if entry.timeStamp > since and entry.smUtil <= 100:  # older ones are leftovers of NVML's buffer
                total, count = sums.get(entry.pid, (0, 0))
                sums[entry.pid] = total + entry.smUtil, count + 1
                gpu.seen_until = max(gpu.seen_until, entry.timeStamp)
        return [(pid, (total + count // 2) // count) for pid, (total, count) in sorted(sums.items())]
