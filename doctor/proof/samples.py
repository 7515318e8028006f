"""Samples of NVML's sampler, as structs: a figure that cannot be is omitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

_MOST = {"utilization": 100, "memory_utilization": 100, "power_draw": 10**7, "power_limit": 10**7, "temperature": 200,
         "clock_sm": 10**5, "clock_memory": 10**5, "clock_sm_max": 10**5, "pcie_gen": 16, "pcie_width": 64,
         "pcie_rx": 10**9, "pcie_tx": 10**9, "nvlink_rx": 10**10, "nvlink_tx": 10**10,
         "sm_activity": 100, "tensor_activity": 100, "memory_activity": 100, "memory_used": 1 << 50,
         "clock_event_reasons": (1 << 64) - 1}  # fmt: skip
"""Above this a driver has written nonsense (some give 2**32 - 1 for what they cannot measure)."""


class Sample(Struct, frozen=True, kw_only=True):
    """One GPU at one moment, in NVML's own units; None if it does not tell (or was not asked this time)."""

    time: float
    """time.monotonic()."""
    gpu: int = 0
    """NVML's index."""
    key: str = ""
    utilization: int | None = None
    """Percent of the time in which a kernel ran."""
    memory_utilization: int | None = None
    memory_used: int | None = None
    """Bytes."""
    clock_sm: int | None = None
    clock_sm_max: int | None = None
    clock_memory: int | None = None
    """MHz."""
    power_draw: int | None = None
    power_limit: int | None = None
    """Milliwatts."""
    power_instant: bool = False
    """Whether the draw is that of the moment; else it may be a mean over the second before."""
    temperature: int | None = None
    clock_event_reasons: int | None = None
    pcie_gen: int | None = None
    pcie_width: int | None = None
    pcie_rx: float | None = None
    pcie_tx: float | None = None
    nvlink_rx: float | None = None
    nvlink_tx: float | None = None
    """kB/s that the GPU received and sent; asked of now and then."""
    sm_activity: float | None = None
    """Percent: mean over the SMs of the time with a warp on them, since it was asked last (GPM)."""
    tensor_activity: float | None = None
    memory_activity: float | None = None
    """Percent of the memory's bandwidth (GPM)."""
    processes: list[tuple[int, int | None]] | None = None
    """(pid, bytes or None) of each process with a compute context."""
    process_utilization: list[tuple[int, int]] | None = None
    """(pid, percent) of the processes that ran kernels since the sample before."""

    def listed(self, pids: Any) -> list[int | None]:
        """Bytes (None: not reported) of each of these processes on this GPU."""
        return [memory for pid, memory in self.processes or () if pid in pids]


def parse_sample(line: Mapping[str, Any]) -> Sample | None:
    """The sample of a line; None of a line that is none. A figure that cannot be is omitted."""
    raw = line.get("sample")
    if not isinstance(raw, dict):
        return None
    try:
        sample = msgspec.convert(raw, Sample)
    except (ValueError, RecursionError):  # msgspec's own errors are ValueErrors
        return None
    return sensible(sample)


def sensible(sample: Sample) -> Sample:
    """The same without figures that cannot be."""
    wrong: dict[str, Any] = {}
    for name, most in _MOST.items():
        value = getattr(sample, name)
        if value is not None and not 0 <= value <= most:
            wrong[name] = None
    listed, rates = sample.processes or [], sample.process_utilization or []
    if any(memory is not None and not 0 <= memory <= 1 << 50 for _, memory in listed):
        wrong["processes"] = [(pid, m if m is not None and 0 <= m <= 1 << 50 else None) for pid, m in listed]
    if any(not 0 <= percent <= 100 for _, percent in rates):
        wrong["process_utilization"] = [(pid, percent) for pid, percent in rates if 0 <= percent <= 100]
    return msgspec.structs.replace(sample, **wrong) if wrong else sample


def parse_samples(lines: Iterable[Mapping[str, Any]]) -> list[Sample]:
    """All samples among these lines."""
    return [sample for line in lines if (sample := parse_sample(line)) is not None]
