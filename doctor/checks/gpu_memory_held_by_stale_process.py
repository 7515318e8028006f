"""GPU memory is in use, but no process that uses it is listed.

What is wrong: memory on an idle GPU is in use, but the driver lists no process that holds it. New programs have less
memory available.

Symptoms: `CUDA out of memory` although nothing seems to run; `nvidia-smi` shows used memory and an empty list of
processes.

Why it happens: a worker from an earlier run that was not killed with its parent, a zombie, a stopped notebook kernel, a
process that is just exiting. Inside a container the list is often empty, because processes on the host and in other
containers are not shown, so in a container this finding is only a note.

How to fix it: `sudo fuser -v /dev/nvidia*` shows which processes have the devices open (without root, only your own);
stop them. If there are none, reset the GPU.

Threshold: stale_memory_mib (500).

Source: nvidia-smi(1); NVML memory and process functions.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..fixes.gpu_state import find_holder
from ..fixes.machine import driver_platform
from ..fixes.where import container_kind
from ..snapshot import Gpu, Missing, Snapshot, known
from ._boards import is_superchip, is_vgpu
from ._readings import Readings, limit, listed, name_of

CHECK = Check(
    __name__,
    title="GPU memory is held by a hidden process",
    sound="No idle GPU has much memory in use without a visible process",
    severity="warning",
    layer="hardware",
    tags=("gpu", "memory"),
)

_OWN_CONTEXT_MIB = 1024
"""What gpudoctor's own test through torch may hold at that moment."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns on a host about an idle GPU with memory in use and no process on it."""
    if driver_platform(s) == "windows":
        raise NotExamined("Windows does not show which process uses GPU memory")
    seen = Readings()
    for gpu in listed(s):
        if is_vgpu(gpu) or known(gpu.mig_enabled) is True or is_superchip(m, gpu):
            continue
        used, processes = seen.of("memory_used_mib", gpu.memory_used_mib), seen.of("processes", gpu.processes)
        busy = seen.of("utilization_percent", gpu.utilization_percent)
        if used is None or processes is None or busy is None:
            continue
        if processes or busy or used <= _most(s, gpu, p):
            continue
        inside = bool(container_kind(s))
        detail = "The GPU is idle, and the driver lists no process on it."
        if inside:
            detail += " Inside a container this may be normal, because processes in other containers are not visible."
        make = CHECK.remark if inside else CHECK.warn
        yield make(
            f"{used} MiB of memory on {name_of(gpu)} is in use, but no process is listed",
            detail,
            facts={"memory_used_mib": used},
            subject=gpu.key,
            fixes=find_holder(s, gpu.key),
        )
    seen.end("both memory and processes")


def _most(s: Snapshot, gpu: Gpu, p: Policy) -> float:
    """How much may be in use without an owner."""
    most = limit(p, "stale_memory_mib", 500)
    if isinstance(gpu.memory_reserved_mib, Missing):
        most += (known(gpu.memory_total_mib) or 0) * 0.02  # this driver counts its own share as used
    return most if isinstance(s.torch_run.kernel_ran, Missing) else most + _OWN_CONTEXT_MIB
