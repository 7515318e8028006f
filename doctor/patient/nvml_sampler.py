"""Agent: what NVML shows of each GPU again and again, through nvidia-ml-py; one JSON line a sample on stdout.

Run alone: `python -m doctor.patient.nvml_sampler FOLDER_OF_PYNVML [--interval S] [--share X] [--watch 1]`. It runs
until its stdin is closed (a thread waits for that, so that a call that hangs does not keep it) or a signal ends it.

Lines: {"begin": CALL, "gpu": N} before the first of each call; {"gpu": {"index", "key", "name", "minor",
"memory_total", "clock_sm_max", "mig"}} once a GPU; {"field": NAME, "error": NVML_CODE, "text": T, "gpu": N} for what
NVML refuses (asked no more where it is not supported); then {"sample": {"time": time.monotonic(), "gpu": N, "key": KEY,
...}} for each GPU every S seconds (default 0.5), six calls of NVML at most. Always: utilization and memory_utilization
in percent, clock_sm in MHz, power_draw in milliwatts (power_instant: true where that is of the moment, and no mean over
a second), clock_event_reasons. In turn: processes [[pid, bytes or null]]
with a compute context; temperature and clock_memory; pcie_gen and pcie_width as they are now; memory_used in bytes and
power_limit; with --watch 1 also what sampler_activity.py reads of the SMs and the links, and process_utilization
[[pid, percent]] of those that ran kernels since it was asked last. A field that was not asked or has no answer is left
out. Where a round takes more than X (default 0.01) of the time in CPU time, rounds become rarer, by half an interval at
most. Raw: judges nothing, masks nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time

from .noise import real_output
from .sampler_activity import Activity
from .sampler_readings import PROOF_TURNS, WATCH_TURNS, Gpu, Readings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Sequence, Tuple

LIBRARY = "libnvidia-ml.so.1"
MAX_GPUS = 256
MAX_MIG_DEVICES = 16
RARER = 1.5
"""So many intervals at most lie between two rounds: a phase of a proof is short."""


class Sampler(Readings):
    """Asks NVML round by round."""

    def __init__(self, descriptor: int, interval_s: float, share: float, turns: "Tuple[str, ...]") -> None:
        super().__init__(descriptor, turns)
        self.interval_s = interval_s
        self.share = share

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
        limit = self.ask(gpu, "power_limit", "nvmlDeviceGetEnforcedPowerLimit", gpu.handle)
        if limit is not None:
            gpu.constants["power_limit"] = limit
        self.power(gpu)  # which of two calls answers is known before the first sample
        mode = self.ask(gpu, "mig", "nvmlDeviceGetMigMode", gpu.handle)
        if mode and mode[0] == 1:
            self.mig_devices(gpu)
        if "activity" in self.turns:
            gpu.activity = Activity(self, gpu)
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

    def run(self, folder: str) -> None:
        """Rounds without end."""
        gpus = self.start(folder)
        due, reported = time.monotonic(), False
        while gpus:
            spent = time.process_time()
            for gpu in gpus:
                self.sample(gpu)
            spent = time.process_time() - spent
            if not reported:
                reported = True
                self.emit(field="rounds", value=len(gpus))
            pause = min(max(self.interval_s, spent / self.share), RARER * self.interval_s)
            due = max(due + pause, time.monotonic())
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
    descriptor = real_output()
    threading.Thread(target=until_closed, daemon=True).start()
    folder = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    interval, share = option(arguments, "--interval", 0.5), option(arguments, "--share", 0.01)
    try:
        turns = WATCH_TURNS if option(arguments, "--watch", 0) else PROOF_TURNS
        Sampler(descriptor, max(0.01, interval), max(0.001, share), turns).run(folder)
    except BrokenPipeError:
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
