"""A GPU that another process holds exclusively: use a different GPU, ask its owner, reach the MPS daemon, or end it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..findings import Fix, Step
from ..snapshot import Gpu, GpuProcess, Snapshot, known
from ..snapshot.typed import uuids_of
from .gpu_state import gpu_changes
from .selection import default_compute_mode, environment_with
from .where import RECHECK, batch_job, container_kind, cuda_changes

SERVER = "nvidia-cuda-mps-server"
"""The process through which all clients of MPS use a GPU."""


def held_fixes(s: Snapshot, gpu: Gpu, holders: Sequence[GpuProcess], free: Sequence[Gpu]) -> tuple[Fix, ...]:
    """The mildest first; `free`: GPUs of this session that no process holds. Another user's process is never ended."""
    fixes = [_other_gpu(s, gpu, free[0])] if free and not batch_job(s) else []
    fixes.append(_ask_owner(s, gpu, holders))
    if len(holders) == 1 and known(holders[0].owner) == "user":
        fixes.append(_end_own(s, gpu, holders[0].pid))
    return (*fixes, default_compute_mode(s, gpu.key, known(gpu.index)))


def _other_gpu(s: Snapshot, gpu: Gpu, free: Gpu) -> Fix:
    index = known(free.index)
    uuid = known(free.uuid)
    step = Step(
        text=f"Use {known(free.name) or 'a GPU'} ({index}), which no process is using.",
        command=f"export CUDA_VISIBLE_DEVICES={uuids_of([free])}",
        where="shell",
        changes=cuda_changes(
            host__environment=environment_with(s, "CUDA_VISIBLE_DEVICES", uuid) if uuid else RECHECK,
            **gpu_changes(s, gpu.key, processes=RECHECK),
        ),
    )
    return Fix(id="use-another-gpu", title="Use a different GPU", steps=(step,))


def _ask_owner(s: Snapshot, gpu: Gpu, holders: Sequence[GpuProcess]) -> Fix:
    pids = ", ".join(str(one.pid) for one in holders)
    look = Step(
        text="See who started it, and when.",
        command=f"ps -o user,pid,lstart,cmd -p {pids.replace(' ', '')}",
        where="host" if container_kind(s) else "shell",
        purpose="look",
    )
    wait = Step(
        text="Wait until it has finished, or ask its owner to end it.",
        where="operator",
        changes=cuda_changes(**gpu_changes(s, gpu.key, processes=RECHECK)),
    )
    return Fix(id="ask-owner", title=f"Ask the owner of process {pids}", steps=(look, wait))


def _end_own(s: Snapshot, gpu: Gpu, pid: int) -> Fix:
    left = tuple(p for p in known(gpu.processes) or () if p.pid != pid)
    step = Step(
        text="It is your own process, from another session. If it is no longer needed, end it.",
        command=f"kill {pid}",
        where="shell",
        destructive=True,
        changes=cuda_changes(**gpu_changes(s, gpu.key, processes=left)),
    )
    return Fix(id="end-process", title=f"End process {pid}, which holds the GPU", steps=(step,))


def reach_mps(s: Snapshot) -> Fix:
    """Name the folder of the daemon's pipes; a container needs it mounted."""
    changes: dict[str, Any] = {"driver.mps_pipe": RECHECK, "host.environment": RECHECK}
    if container_kind(s):
        step = Step(
            text="Start the container with the host's MPS folder and its shared memory: "
            "-v /tmp/nvidia-mps:/tmp/nvidia-mps --ipc=host (with the folder that the host's daemon uses).",
            where="container-start",
            changes=changes,
        )
        return Fix(id="mount-mps-pipe", title="Mount the MPS daemon's folder into the container", steps=(step,))
    step = Step(
        text="Set it to the folder that the MPS daemon was started with (the daemon's own value of this variable, or "
        "/tmp/nvidia-mps if it has none).",
        command='export CUDA_MPS_PIPE_DIRECTORY="$(sudo cat /proc/$(pgrep -o -f nvidia-cuda-mps-control)/environ | '
        "tr '\\0' '\\n' | sed -n 's/^CUDA_MPS_PIPE_DIRECTORY=//p' | grep . || echo /tmp/nvidia-mps)\"",
        where="shell",
        needs_root=True,
        changes=changes,
    )
    return Fix(
        id="set-mps-pipe-directory",
        title="Set CUDA_MPS_PIPE_DIRECTORY to the MPS daemon's folder",
        steps=(step,),
        source="docs.nvidia.com/deploy/mps",
    )
