"""Part of the agent torch_speed: the two kinds of device."""

from __future__ import annotations

import ctypes
import math
import sys
import time

from .cuda_keys import driver_key, gpu_key
from .speed_plan import MIB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple


class Cpu:
    """The CPU, with the interface of Cuda."""

    kind, name, key, model, capability, sms, l2_bytes = "cpu", "cpu", "", "", None, 1, 0

    def mark(self) -> float:
        return time.perf_counter()

    def between_ms(self, start: float, end: float) -> float:
        return (end - start) * 1e3

    def sync(self) -> None:
        pass

    empty_cache = sync

    def free_bytes(self) -> float:
        return math.inf


class Cuda:
    """One GPU or MIG slice as torch shows it."""

    kind = "cuda"

    def __init__(self, torch: Any, ordinal: int) -> None:
        self.cuda = torch.cuda
        self.ordinal = ordinal
        self.name = "cuda:%d" % ordinal
        self.key = driver_key(ordinal)
        self.before = nvml_used(self.key)
        self.cuda.set_device(ordinal)
        self.cuda.synchronize()
        properties = self.cuda.get_device_properties(ordinal)
        self.key = self.key or gpu_key(torch, ordinal)
        self.model = str(properties.name)
        self.capability: Tuple[int, int] | None = (int(properties.major), int(properties.minor))
        self.sms = int(properties.multi_processor_count)
        l2 = getattr(properties, "L2_cache_size", 0)
        self.l2_bytes = int(l2) or (64 * MIB if properties.major >= 8 else 8 * MIB)

    def mark(self) -> Any:
        event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between_ms(self, start: Any, end: Any) -> float:
        """Milliseconds between two marks, once the device has passed them."""
        return float(start.elapsed_time(end))

    def sync(self) -> None:
        self.cuda.synchronize()

    def empty_cache(self) -> None:
        self.cuda.empty_cache()

    def free_bytes(self) -> float:
        """Bytes that torch could still get, those that it holds and does not use among them."""
        held = self.cuda.memory_reserved() - self.cuda.memory_allocated()
        return float(self.cuda.mem_get_info(self.ordinal)[0] + max(0, held))

    def used_bytes(self) -> int:
        """Bytes that tensors asked for; before torch 2.0 what they were given, a little more."""
        stats = self.cuda.memory_stats()
        return int(stats.get("requested_bytes.all.current") or self.cuda.memory_allocated())

    def context_bytes(self) -> int | None:
        """What this process holds beyond torch's tensors and cache: context, kernels, library handles. None where
        NVML does not answer, or where another process changed the figure meanwhile."""
        now = nvml_used(self.key)
        if now is None or self.before is None:
            return None
        taken = now - self.before - int(self.cuda.memory_reserved())
        return taken if taken > 0 else None


def nvml_used(key: str) -> int | None:
    """Bytes in use on a GPU by all processes, from NVML; None where it does not answer."""
    try:
        nvml = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
        handle, memory = ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()
        if not key or nvml.nvmlInit_v2():
            return None
        if nvml.nvmlDeviceGetHandleByUUID(key.encode("ascii"), ctypes.byref(handle)):
            return None
        return None if nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) else int(memory[2])
    except (OSError, AttributeError):
        return None
