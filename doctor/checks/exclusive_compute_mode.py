"""A GPU's compute mode refuses this program: prohibited, or exclusive and already in use.

What is wrong: in mode Exclusive_Process only one process at a time may use the GPU; in mode Prohibited, none may.

How it shows: `CUDA error: all CUDA-capable devices are busy or unavailable` (46); the second worker of a job fails, the
first works.

Why it happens: the administrator or a batch system set the mode; a leftover process still holds the GPU; data loader
workers touch the GPU too.

How to fix it: use another GPU or end the process that holds this one; or set the mode to default (root).

Source: nvidia-smi(1), compute mode; CUDA_ERROR_DEVICE_UNAVAILABLE.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.selection import default_compute_mode, end_process
from ..snapshot import Snapshot, known, need
from ._seen import absent, need_gpus

CHECK = Check(
    __name__,
    title="The compute mode refuses programs",
    sound="The compute mode lets programs in",
    severity="error",
    layer="driver",
    tags=("selection", "gpu"),
    downstream_of=("driver-not-answering",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for a prohibited GPU, and for an exclusive one with a process on it where torch's kernel did not run."""
    lack = None
    for gpu in need_gpus(s):
        mode = known(gpu.compute_mode)
        if mode is None:
            lack = gpu.compute_mode if lack is None and not absent(gpu.compute_mode) else lack
            continue
        name = f"{known(gpu.name) or 'GPU'} ({known(gpu.index)})"
        facts = {"compute_mode": mode, "index": known(gpu.index)}
        if mode == "prohibited":
            title = f"{name} is in compute mode Prohibited: no program may use it"
            fix = default_compute_mode(s, gpu.key, known(gpu.index))
            yield CHECK.fail(title, facts=facts, subject=gpu.key, fixes=(fix,))
            continue
        holders = [q for q in known(gpu.processes) or () if q.kind == "compute"]
        if not mode.startswith("exclusive") or not holders or s.torch_run.kernel_ran is True:
            continue
        default = default_compute_mode(s, gpu.key, known(gpu.index))
        fixes = (end_process(s, gpu.key, holders[0].pid), default) if len(holders) == 1 else (default,)
        yield CHECK.fail(
            f"{name} is in compute mode {mode} and process {holders[0].pid} holds it",
            "Any other program gets CUDA error 46 (devices are busy or unavailable) on this GPU.",
            facts={**facts, "pid": holders[0].pid},
            subject=gpu.key,
            fixes=fixes,
        )
    if lack is not None:
        need("gpus.compute_mode", lack)
