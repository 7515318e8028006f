"""What NVML showed while the GPU was working: for each GPU, the phase that shows a reason most often."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import NotExamined
from ..findings.measured_gpu import gpu_of
from ..findings.measured_rates import share
from ..snapshot import Gpu, Load, Missing, NeedsFact, Snapshot

UNDER_LOAD = ("matmul", "memory", "training", "sweep", "soak", "watch")
LEAST_SAMPLES = 5


def worst_loads(s: Snapshot, *reasons: str) -> Iterator[tuple[Gpu | None, str, Load]]:
    """(GPU, its key, load) with the largest share of these reasons; skipped if NVML was not sampled under load, or gave
    no reasons for one of the GPUs."""
    unread = False
    for gpu, key, own in under_load(s):
        read = [load for load in own if not isinstance(load.reasons, Missing)]
        if read:
            yield gpu, key, max(read, key=lambda load: share(load, *reasons))
        unread |= not read
    if unread:
        raise NotExamined("NVML reported no clock event reasons under load")


def under_load(s: Snapshot) -> list[tuple[Gpu | None, str, list[Load]]]:
    """(GPU, its key, its phases under load) for each GPU; skipped if NVML was not sampled then."""
    loads = s.measured.loads
    if isinstance(loads, Missing):
        if loads.reason in ("not-asked", "absent"):
            raise NotExamined("NVML was not sampled under load")
        raise NeedsFact("measured.loads", loads)
    work = [load for load in loads if load.phase in UNDER_LOAD and load.samples >= LEAST_SAMPLES]
    if not work:
        raise NotExamined("there are too few NVML samples under load")
    found = []
    for key in dict.fromkeys(load.key for load in work):
        own = [load for load in work if load.key == key]
        gpu = gpu_of(s, "", key)
        found.append((gpu, gpu.key if gpu else key, own))
    return found
