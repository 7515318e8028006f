"""Agent: what NVML shows of each GPU again and again, through nvidia-ml-py; one JSON line a sample on stdout.

Run alone: `python -I -S nvml_sampler.py FOLDER_OF_PYNVML [--interval S] [--share X]`. It runs until its stdin is closed
(a thread waits for that, so that a call that hangs does not keep it) or a signal ends it.

Lines: {"begin": CALL, "gpu": N} before each call until the first round is over; {"gpu": {"index", "key", "name",
"minor", "memory_total", "clock_sm_max", "mig"}} once a GPU; {"field": NAME, "error": NVML_CODE, "text": T, "gpu": N}
for what NVML refuses (asked no more where it is not supported); then {"sample": {"time": time.monotonic(), "gpu": N,
"key": KEY, ...}} for each GPU every S seconds (default 0.5): utilization and memory_utilization in percent,
memory_used in bytes, clock_sm, clock_sm_max and clock_memory in MHz, power_draw and power_limit in milliwatts,
temperature, clock_event_reasons, pcie_gen and pcie_width as they are now, pcie_rx in kB/s (every few seconds: NVML
measures for 20 ms), processes [[pid, bytes or null]] with a compute context, process_utilization [[pid, percent]] of
those that ran kernels since the sample before. A field that has no answer is left out. Where a round takes more than
X (default 0.01) of the time in CPU time, rounds become rarer. Raw: judges nothing, masks nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

LIBRARY = "libnvidia-ml.so.1"
MAX_GPUS = 256
MAX_MIG_DEVICES = 16
MAX_PROCESSES = 256
RECEIVED = 1
"""nvmlPcieUtilCounter_t: what the GPU receives."""
RECEIVED_EVERY_S = 2.0
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


class Sampler:
    """Asks NVML round by round."""

    def __init__(self, descriptor: int, interval_s: float, share: float) -> None:
        self.descriptor = descriptor
        self.interval_s = interval_s
        self.share = share
        self.nvml: Any = None
        self.first_round = True

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        data = (json.dumps(line, separators=(",", ":")) + "\n").encode("ascii", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]

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

    def start(self, folder: str) -> "List[Gpu]":
        """Load the library and the binding, and find the GPUs; none where that is not possible, which is told."""
        self.emit(begin="dlopen " + LIBRARY)
        try:
            if sys.platform != "win32":
                ctypes.CDLL(LIBRARY)
        except OSError as error:
            self.emit(field="library", error=-1, text=str(error)[:300])
            return []
        self.emit(begin="import pynvml")
        sys.path.append(folder)
        try:
            import pynvml

            self.nvml = pynvml
        except Exception as error:
            self.emit(field="binding", error=-2, text=(type(error).__name__ + ": " + str(error))[:300])
            return []
        started = []
        self.emit(begin="nvmlInitWithFlags")
        try:
            self.nvml.nvmlInitWithFlags(0)
        except Exception as error:
            self.emit(field="init", error=getattr(error, "value", -2), text=str(error)[:300])
            return []
        self.emit(field="init", value=0)
        count = self.ask(None, "count", "nvmlDeviceGetCount")
        for index in range(min(count or 0, MAX_GPUS)):
            handle = self.ask(None, "handle", "nvmlDeviceGetHandleByIndex", index)
            if handle is not None:
                started.append(Gpu(index, handle))
                self.constants(started[-1])
        return started

    def constants(self, gpu: Gpu) -> None:
        """What does not change while we look."""
        uuid = self.ask(gpu, "uuid", "nvmlDeviceGetUUID", gpu.handle)
        pci = self.ask(gpu, "pci", "nvmlDeviceGetPciInfo_v3", gpu.handle)
        if isinstance(uuid, str) and uuid:
            gpu.key = uuid
        elif pci is not None:
            domain, _, rest = str(pci.busId).lower().partition(":")
            gpu.key = (domain[4:] if len(domain) == 8 and domain.startswith("0000") else domain) + ":" + rest
        memory = self.ask(gpu, "memory_total", "nvmlDeviceGetMemoryInfo", gpu.handle, 0x02000028)
        clock = self.ask(gpu, "clock_sm_max", "nvmlDeviceGetMaxClockInfo", gpu.handle, 1)
        if clock is not None:
            gpu.constants["clock_sm_max"] = clock
        mode = self.ask(gpu, "mig", "nvmlDeviceGetMigMode", gpu.handle)
        if mode and mode[0] == 1:
            self.mig_devices(gpu)
        self.emit(
            gpu={
                "index": gpu.index,
                "key": gpu.key,
                "name": self.ask(gpu, "name", "nvmlDeviceGetName", gpu.handle),
                "minor": self.ask(gpu, "minor", "nvmlDeviceGetMinorNumber", gpu.handle),
                "memory_total": None if memory is None else memory.total,
                "clock_sm_max": clock,
                "mig": bool(mode and mode[0] == 1),
            }
        )

    def mig_devices(self, gpu: Gpu) -> None:
        """Processes of a GPU in MIG mode are listed by its MIG devices."""
        slots = self.ask(gpu, "mig_count", "nvmlDeviceGetMaxMigDeviceCount", gpu.handle)
        for slot in range(min(slots or 0, MAX_MIG_DEVICES)):
            try:
                gpu.mig.append(self.nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu.handle, slot))
            except Exception:
                continue  # an empty slot

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

    def run(self, folder: str) -> None:
        """Rounds without end."""
        gpus = self.start(folder)
        rounds, due = 0, time.monotonic()
        while gpus:
            spent = time.process_time()
            turns = max(1, round(RECEIVED_EVERY_S / self.interval_s))
            for gpu in gpus:
                self.sample(gpu, (rounds + gpu.index) % turns == 0)  # not all in the same round
            spent = time.process_time() - spent
            if self.first_round:
                self.first_round = False
                self.emit(field="rounds", value=len(gpus))
            rounds += 1
            due = max(due + max(self.interval_s, spent / self.share), time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))


def until_closed() -> None:
    """End the process at once when nobody holds the other end of stdin any more."""
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass
    os._exit(0)


def option(arguments: "Sequence[str]", name: str, otherwise: float) -> float:
    """The number after this option."""
    return float(arguments[arguments.index(name) + 1]) if name in arguments else otherwise


def main(arguments: "Sequence[str]") -> None:
    """Run as an agent; ends the process at once, so that no exit handler of the driver can hang or crash it."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    threading.Thread(target=until_closed, daemon=True).start()
    folder = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    interval, share = option(arguments, "--interval", 0.5), option(arguments, "--share", 0.01)
    try:
        Sampler(descriptor, max(0.01, interval), max(0.001, share)).run(folder)
    except BrokenPipeError:
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
