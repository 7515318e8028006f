"""Readings of each GPU: an unsupported one is skipped for that GPU, an unreadable one makes the check UNKNOWN."""

from __future__ import annotations

from typing import TypeVar

from ..findings import NotExamined, Policy, Skip
from ..snapshot import Gpu, Missing, NeedsFact, Snapshot, known, need

T = TypeVar("T")

IDLE, POWER_CAP = 0x1, 0x4
HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x8, 0x20, 0x40, 0x80
"""Bits of NVML's clock event reasons (nvml.h)."""
THERMAL = SW_THERMAL | HW_THERMAL
ONE_GPU = "only one GPU"


def listed(s: Snapshot) -> tuple[Gpu, ...]:
    """The GPUs that NVML lists; UNKNOWN without a list, skipped if it is empty or the board has no NVML."""
    if isinstance(s.gpus, Missing) and s.gpus.reason == "absent" and "tegra" in (known(s.host.kernel) or ""):
        raise NotExamined("this Jetson board has no NVML; its readings come from tegrastats")
    gpus = need("gpus", s.gpus)
    if not gpus:
        raise Skip("no GPU is listed", without="gpu")
    return gpus


def name_of(gpu: Gpu) -> str:
    """`NVIDIA L4 (GPU 0)`."""
    index = known(gpu.index)
    return f"{known(gpu.name) or 'GPU'}{'' if index is None else f' (GPU {index})'}"


def loaded(gpu: Gpu) -> bool:
    """Whether the GPU is busy: its utilization says so, or if that is unknown, it does not report itself as idle."""
    percent = known(gpu.utilization_percent)
    if percent is not None:
        return percent > 0
    reasons = known(gpu.clock_event_reasons)
    return reasons is not None and not reasons & IDLE


def limit(p: Policy, name: str, default: float) -> float:
    """A threshold: the policy's own, else the default."""
    return p.thresholds.get(name, default)


def of_several(s: Snapshot, nothing: str) -> Skip:
    """Why nothing between GPUs was measured: there is only one, or it was not tried (`nothing` says so)."""
    return Skip(ONE_GPU) if len(known(s.gpus) or ()) == 1 else NotExamined(nothing)


class Readings:
    """Collects what was looked at; `end` decides the check if nothing could be read."""

    def __init__(self) -> None:
        self.looked = False
        self.lack: NeedsFact | None = None

    def of(self, name: str, value: T | Missing) -> T | None:
        """The value, or None if it is not supported here (absent) or could not be read."""
        if isinstance(value, Missing):
            if value.reason != "absent" and self.lack is None:
                self.lack = NeedsFact(f"gpus.{name}", value)
            return None
        self.looked = True
        return value

    def end(self, what: str) -> None:
        """UNKNOWN if a reading failed, skipped if no GPU has it. Call it after the last finding."""
        if self.lack:
            raise self.lack
        if not self.looked:
            raise Skip(f"no GPU here reports {what}")
