"""Fixes of a program's variables, of which GPUs it sees, and of their compute mode."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..findings import Fix, Step
from ..snapshot import EnvVar, Missing, Snapshot, known
from .gpu_state import gpu_changes
from .where import RECHECK, cuda_changes, host_sudo, on_host


def unset_gpu_selection(s: Snapshot, name: str) -> Fix:
    """Remove a variable that hides GPUs."""
    return unset(s, name, " to make all GPUs visible", cuda_changes())


def unset(s: Snapshot, name: str, why: str = "", changes: dict[str, Any] | None = None) -> Fix:
    """Remove a variable; `changes`: other facts than the environment."""
    step = Step(
        text="Also remove it where it is set: the script, the notebook, ENV in the image, the job file.",
        command=f"unset {name}",
        where="shell",
        changes={**(changes or {}), "host.environment": environment_with(s, name, None)},
    )
    return Fix(id=f"unset-{name.lower().replace('_', '-')}", title=f"Unset {name}{why}", steps=(step,))


def select_gpus(s: Snapshot, name: str, value: str) -> Fix:
    """Give a variable that selects GPUs a value that is right."""
    return Fix(
        id=f"set-{name.lower().replace('_', '-')}",
        title=f"Set {name} to GPUs that are there",
        steps=(
            Step(
                text="Choose among the GPUs of this machine; set it before the program starts.",
                command=f"export {name}={value}",
                where="shell",
                changes=cuda_changes(host__environment=environment_with(s, name, value)),
            ),
        ),
    )


def environment_with(s: Snapshot, name: str, value: str | None) -> tuple[EnvVar, ...] | Missing:
    """The environment with one variable set, or (None) without it."""
    if isinstance(s.host.environment, Missing):
        return s.host.environment
    kept = tuple(v for v in s.host.environment if v.name != name)
    return kept if value is None else (*kept, EnvVar(name, value))


def default_compute_mode(s: Snapshot, key: str, index: int | None) -> Fix:
    """Set a GPU's compute mode to default."""
    changes = cuda_changes(**gpu_changes(s, key, compute_mode="default"))
    choice = "" if index is None else f" -i {index}"
    return Fix(
        id="default-compute-mode",
        title="Set the compute mode to default",
        steps=(
            on_host(s, "Allow several processes on the GPU.", f"{host_sudo(s)}nvidia-smi{choice} -c DEFAULT", changes),
        ),
    )


def end_process(s: Snapshot, key: str, pid: int) -> Fix:
    """End the process that holds an exclusive GPU."""
    gpus = tuple(
        replace(g, processes=tuple(p for p in known(g.processes) or () if p.pid != pid)) if g.key == key else g
        for g in known(s.gpus) or ()
    )
    return Fix(
        id="end-process",
        title=f"End process {pid}, which holds the GPU",
        steps=(
            Step(
                text="If it is yours and no longer needed, end it; otherwise wait, or use another GPU.",
                command=f"kill {pid}",
                where="shell",
                destructive=True,
                changes=cuda_changes(gpus=gpus),
            ),
        ),
    )


def pci_order(s: Snapshot) -> Fix:
    """Let CUDA number the GPUs as nvidia-smi does."""
    return Fix(
        id="set-cuda-device-order",
        title="Let CUDA number the GPUs as nvidia-smi does",
        steps=(
            Step(
                text="Set it before the program starts, and look which GPUs are chosen by number.",
                command="export CUDA_DEVICE_ORDER=PCI_BUS_ID",
                where="shell",
                changes={
                    "host.environment": environment_with(s, "CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
                    "driver.cuda_devices": RECHECK,
                },
            ),
        ),
        source="CUDA C++ Programming Guide, environment variables",
    )
