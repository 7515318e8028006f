"""The container's or job's memory limit is small compared with the GPU's memory.

What is wrong: weights, checkpoints and batches pass through the machine's memory on their way to the GPU, and the
cgroup's limit leaves little room for them.

Symptoms: `Killed` without a Python traceback, exit code 137, a pod with status `OOMKilled`, a data loader worker
killed by signal 9, usually while a model is loading.

Why it happens: the pod, container or batch job has a memory limit that was meant for a small program.

How to fix it: start the container or job with more memory; if that is not possible, load weights from memory-mapped
files (safetensors).

Thresholds: memory_limit_warn_mib (4096): a limit of at most this many MiB that is also below a quarter of one GPU's
memory is a warning; any limit below one GPU's memory is a note.

Source: cgroup v2, memory.max, docs.kernel.org/admin-guide/cgroup-v2.html.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.limits import more_memory
from ..snapshot import Snapshot, known, need
from ._readings import limit, listed
from ._seen import absent

CHECK = Check(
    __name__,
    title="The memory limit is small for this GPU",
    sound="The memory limit is not lower than the GPU's memory",
    severity="warning",
    layer="container",
    tags=("limits", "memory"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Compares the cgroup's limit with the memory of one GPU."""
    if absent(s.host.memory_limit_mib):
        raise Skip("there is no memory limit")
    mib = need("host.memory_limit_mib", s.host.memory_limit_mib)
    sizes = [size for g in listed(s) if (size := known(g.memory_total_mib))]
    if not sizes:
        need("gpus.memory_total_mib", listed(s)[0].memory_total_mib)
    largest = max(sizes)
    if mib >= largest:
        return
    small = mib <= limit(p, "memory_limit_warn_mib", 4096) and mib * 4 < largest
    make = CHECK.warn if small else CHECK.remark
    yield make(
        f"The memory limit here is {mib} MiB, but one GPU has {largest} MiB",
        "A model that fills the GPU needs that much host memory while it loads, unless its files are memory-mapped.",
        facts={"memory_limit_mib": mib, "gpu_memory_mib": largest},
        fixes=(more_memory(s, largest + 4096),),
    )
