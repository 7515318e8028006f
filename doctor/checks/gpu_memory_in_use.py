"""Most of a GPU's memory is already in use.

What is wrong: nothing fails. Another program, or another run of yours, holds more than half of the memory.

Symptoms: `CUDA out of memory`, although the same program ran before; the message says how much other processes use.

Why it happens: an inference server, a notebook or another user's job on the same GPU.

How to fix it: stop programs that are no longer needed, or use another GPU (CUDA_VISIBLE_DEVICES). This is only a note:
a busy GPU is not a faulty GPU.

Threshold: memory_in_use_percent (50).

Source: NVML memory and process functions (nvml.h).
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Snapshot, known
from ._boards import is_superchip
from ._readings import Readings, limit, listed, name_of

CHECK = Check(
    __name__,
    title="Most of a GPU's memory is in use",
    sound="Most of the GPU memory is free",
    severity="info",
    layer="hardware",
    tags=("gpu", "memory"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """A remark for each GPU with more than half of its memory in use."""
    seen = Readings()
    for gpu in listed(s):
        used, total = seen.of("memory_used_mib", gpu.memory_used_mib), known(gpu.memory_total_mib)
        if used is None or not total or is_superchip(m, gpu):
            continue
        if used * 100 <= total * limit(p, "memory_in_use_percent", 50):
            continue
        processes = known(gpu.processes)
        holders = [f"{known(q.name) or 'process'} ({q.pid})" for q in (processes or ())[:4]]
        detail = "" if processes is None else "No process is visible from here."
        yield CHECK.remark(
            f"{used} of {total} MiB of memory on {name_of(gpu)} is in use",
            f"Used by {', '.join(holders)}." if holders else detail,
            facts={"memory_used_mib": used, "memory_total_mib": total},
            subject=gpu.key,
        )
    seen.end("its memory use")
