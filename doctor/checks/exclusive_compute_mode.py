"""A GPU's compute mode blocks this program: the mode is Prohibited, or it is Exclusive and the GPU is already in use.

What is wrong: in Exclusive_Process mode, only one process at a time may use the GPU; in Prohibited mode, none may.

Symptoms: `CUDA error: all CUDA-capable devices are busy or unavailable` (46); the first worker of a job works, but the
second fails.

Why it happens: the administrator or a batch system set the mode; a leftover process still holds the GPU; data loader
workers use the GPU too.

How to fix it: use another GPU, or ask the owner of the process that is using this GPU to stop it; or set the mode to
default (as root).

Two cases are not reported as problems: an MPS server (nvidia-cuda-mps-server) that holds the GPU, as NVIDIA's guide
advises, if this user can reach its daemon's pipes (CUDA_MPS_PIPE_DIRECTORY, by default /tmp/nvidia-mps); and a program
in the same container, batch job or login session, such as the training run that this health check watches.

Source: nvidia-smi(1), compute mode; CUDA_ERROR_DEVICE_UNAVAILABLE; docs.nvidia.com/deploy/mps.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.held import SERVER, held_fixes, reach_mps
from ..fixes.machine import is_hidden
from ..fixes.selection import default_compute_mode
from ..snapshot import Gpu, Missing, Snapshot, known, need
from ._seen import absent, need_gpus

CHECK = Check(
    __name__,
    title="A GPU's compute mode blocks programs",
    sound="No GPU's compute mode blocks programs",
    severity="error",
    layer="driver",
    tags=("selection", "gpu"),
    downstream_of=("driver-not-answering",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for a prohibited GPU, and for an exclusive one held by somebody else's process or an unreachable MPS."""
    lack = None
    for gpu in need_gpus(s):
        mode = known(gpu.compute_mode)
        if mode is None:
            lack = gpu.compute_mode if lack is None and not absent(gpu.compute_mode) else lack
            continue
        name = f"{known(gpu.name) or 'GPU'} ({known(gpu.index)})"
        facts = {"compute_mode": mode, "index": known(gpu.index)}
        if mode == "prohibited":
            title = f"{name} is in compute mode Prohibited: no program can use it"
            fix = default_compute_mode(s, gpu.key, known(gpu.index))
            yield CHECK.fail(title, facts=facts, subject=gpu.key, fixes=(fix,))
            continue
        holders = [q for q in known(gpu.processes) or () if q.kind != "graphics"]
        if not mode.startswith("exclusive") or not holders or s.torch_run.kernel_ran is True or is_hidden(s, gpu):
            continue
        if any((known(q.name) or "").rpartition("/")[2].startswith(SERVER) for q in holders):
            yield from _by_mps(s, gpu, name, facts)
            continue
        others = [q for q in holders if known(q.owner) != "session"]
        if not others:
            continue  # this container's, job's or session's own program
        whose = {"other": "another user's ", "user": "your "}.get(known(others[0].owner) or "", "")
        yield CHECK.fail(
            f"{name} is in compute mode {mode} and {whose}process {others[0].pid} is using it",
            "Any other program gets CUDA error 46 (devices are busy or unavailable) on this GPU.",
            facts={**facts, "pid": others[0].pid, "owner": known(others[0].owner)},
            subject=gpu.key,
            fixes=held_fixes(s, gpu, others, _free(s)),
        )
    if lack is not None:
        need("gpus.compute_mode", lack)


def _by_mps(s: Snapshot, gpu: Gpu, name: str, facts: Mapping[str, object]) -> Findings:
    """An MPS server admits every program that reaches its daemon's pipes."""
    pipe = s.driver.mps_pipe
    if not isinstance(pipe, Missing):
        return
    if pipe.reason not in ("absent", "denied"):
        need("driver.mps_pipe", pipe)
    why = "does not exist" if pipe.reason == "absent" else "cannot be opened by this user"
    yield CHECK.fail(
        f"An MPS server holds {name}, but its pipe folder is not accessible",
        f"{pipe.detail or '/tmp/nvidia-mps'}/control {why}, so programs cannot reach the MPS daemon: "
        "they get CUDA error 46.",
        facts={**facts, "mps_pipe": pipe.detail},
        subject=gpu.key,
        fixes=(reach_mps(s),),
    )


def _free(s: Snapshot) -> list[Gpu]:
    """GPUs in this session that no process is computing on."""
    found = [gpu for gpu in known(s.gpus) or () if not is_hidden(s, gpu) and known(gpu.index) is not None]
    return [gpu for gpu in found if known(gpu.compute_mode) != "prohibited" and known(gpu.processes) == ()]
