"""Part of the agent nvml_sampler: one GPU's readings, six calls of NVML at most, and what is asked no more."""

from __future__ import annotations

import time

from .json_lines import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Set, Tuple

    from .sampler_activity import Activity

MAX_PROCESSES = 256
NOT_FOUND = 6
FUNCTION_NOT_FOUND = 13
HOPELESS = (3, 4, FUNCTION_NOT_FOUND, 15, -2)
"""Not supported, no permission, no such call, GPU is lost, not in the binding: the same at the next sample."""

POWER_INSTANT = 186
"""NVML_FI_DEV_POWER_INSTANT: milliwatts. nvmlDeviceGetPowerUsage is a mean over a second since Ampere (but GA100)."""
ALWAYS = (
    ("utilization", "nvmlDeviceGetUtilizationRates", ()),
    ("clock_sm", "nvmlDeviceGetClockInfo", (1,)),
    ("clock_event_reasons", "nvmlDeviceGetCurrentClocksThrottleReasons", ()),
)
"""Field, function, further arguments. The event reasons by their old name: drivers before 535 have only that."""
IN_TURN = {
    "heat": (("temperature", "nvmlDeviceGetTemperature", (0,)), ("clock_memory", "nvmlDeviceGetClockInfo", (2,))),
    "link": (
        ("pcie_gen", "nvmlDeviceGetCurrPcieLinkGeneration", ()),
        ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", ()),
    ),
    "room": (
        ("memory_used", "nvmlDeviceGetMemoryInfo", (0x02000028,)),
        ("power_limit", "nvmlDeviceGetEnforcedPowerLimit", ()),
    ),
}
"""Two calls more: a sample takes one of these turns, or one of two calls that `Readings.turn` makes itself."""
LASTING = ("temperature", "memory_used", "power_limit")
"""Told again until they are asked again: they change slowly."""
PROOF_TURNS = ("processes", "link", "processes", "heat", "processes", "link", "processes", "room", "processes", "mps")
WATCH_TURNS = ("processes", "activity", "shares", "heat", "processes", "activity", "shares", "room",
               "processes", "activity", "shares", "link", "processes", "activity", "shares", "mps")  # fmt: skip
"""GPM and NVML's shares of processes are of all the time since they were asked last: nothing is missed between."""
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
        """What every sample of it repeats."""
        self.mig: List[Any] = []
        self.cap_written = False
        self.refused: Dict[str, int] = {}
        self.announced: Set[str] = set()
        """Calls that were made: the first of each is announced, so that one that hangs is named."""
        self.turns = index  # not all GPUs ask for the same in one round: some take NVML 20 ms
        self.lists = 0
        self.listed: Dict[str, Dict[int, Optional[int]]] = {}
        """By source of a list of processes what it had."""
        self.activity: Optional[Activity] = None
        self.seen_until = int(time.time() * 1e6)
        """NVML's microseconds of the newest utilisation by process."""


class Readings(Lines):
    """Asks NVML about one GPU at a time."""

    def __init__(self, descriptor: int, turns: "Tuple[str, ...]" = PROOF_TURNS) -> None:
        super().__init__(descriptor)
        self.nvml: Any = None
        self.turns = turns

    def ask(self, gpu: "Optional[Gpu]", field: str, name: str, *given: Any) -> Any:
        """A call's answer; None where it has none, which is told once."""
        if gpu is not None and gpu.refused.get(field) in HOPELESS:
            return None
        if gpu is None:
            self.emit(begin=name)
        elif name + field not in gpu.announced:
            gpu.announced.add(name + field)
            self.emit(begin=name, gpu=gpu.index)
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

    def sample(self, gpu: Gpu) -> None:
        """Ask one GPU, six calls at most, and write the line."""
        line: Dict[str, Any] = {"time": round(time.monotonic(), 4), "gpu": gpu.index, "key": gpu.key}
        answers = self.fields(gpu, ALWAYS)
        answers.update(self.power(gpu))
        answers.update(self.turn(gpu))
        for name in LASTING:
            if name in answers:
                gpu.constants[name] = answers[name]
        if answers:
            line.update(gpu.constants)
            line.update(answers)
            self.emit(sample=line)

    def fields(self, gpu: Gpu, calls: "Tuple[Tuple[str, str, Tuple[int, ...]], ...]") -> "Dict[str, Any]":
        """The answers to calls that take a handle and numbers."""
        found: Dict[str, Any] = {}
        for field, name, given in calls:
            value = self.ask(gpu, field, name, gpu.handle, *given)
            if value is None:
                continue
            if field == "utilization":
                found["utilization"], found["memory_utilization"] = value.gpu, value.memory
            else:
                found[field] = value.used if field == "memory_used" else value
        return found

    def power(self, gpu: Gpu) -> "Dict[str, Any]":
        """What it draws now, in one call; what it drew on average where NVML tells only that."""
        values = self.ask(gpu, "power_instant", "nvmlDeviceGetFieldValues", gpu.handle, [POWER_INSTANT])
        if values and values[0].nvmlReturn == 0:
            value = values[0].value
            return {"power_draw": int(value.uiVal if values[0].valueType == 1 else value.ullVal), "power_instant": True}
        gpu.refused.setdefault("power_instant", HOPELESS[0])
        return self.fields(gpu, (("power_draw", "nvmlDeviceGetPowerUsage", ()),))

    def turn(self, gpu: Gpu) -> "Dict[str, Any]":
        """What this sample asks beside the rest: two calls at most, and another matter at the next one."""
        name = self.turns[gpu.turns % len(self.turns)]
        gpu.turns += 1
        if name in IN_TURN:
            return self.fields(gpu, IN_TURN[name])
        if name == "activity":
            return gpu.activity.read() if gpu.activity is not None else {}
        if name == "shares":
            rates = self.process_utilization(gpu)
            return {} if rates is None else {"process_utilization": rates}
        processes = self.processes(gpu, name == "mps")
        return {} if processes is None else {"processes": processes}

    def processes(self, gpu: Gpu, mps: bool) -> "Optional[List[Tuple[int, Optional[int]]]]":
        """Each process with a compute context once; None: NVML does not say, or not all MIG devices were asked yet.

        Two calls (the binding asks for the length first), so one source a time: the GPU or a MIG device, and now and
        then the list of MPS, which is told with the next of the others.
        """
        kind = "processes_mps" if mps else "processes"
        name = "nvmlDevice%sRunningProcesses_v3" % ("GetMPSCompute" if mps else "GetCompute")
        handles = {kind + ("_mig_%d" % (at - 1) if at else ""): h for at, h in enumerate([gpu.handle, *gpu.mig])}
        open_ones = [field for field in handles if gpu.refused.get(field) not in HOPELESS]
        if not open_ones:
            return None
        field = open_ones[gpu.lists % len(open_ones)]
        gpu.lists += not mps
        listed = self.ask(gpu, field, name, handles[field])
        if listed is None:
            gpu.listed.pop(field, None)
        else:
            if len(listed) > MAX_PROCESSES and not gpu.cap_written:
                gpu.cap_written = True
                self.emit(cap="gpu-processes", looked=MAX_PROCESSES, listed=len(listed), path=gpu.key)
            gpu.listed[field] = {process.pid: process.usedGpuMemory for process in listed[:MAX_PROCESSES]}
        sources = [one for one in open_ones if gpu.refused.get(one) not in HOPELESS]
        if mps or not sources or any(one not in gpu.listed for one in sources):
            return None
        found: Dict[int, Optional[int]] = {}
        for source, there in gpu.listed.items():
            if source in sources or source.startswith("processes_mps"):
                for pid, memory in there.items():
                    found[pid] = found.get(pid) if memory is None else max(memory, found.get(pid) or 0)
        return sorted(found.items())

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
