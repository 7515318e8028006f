"""Fixes for a program's variables, for which GPUs it sees, and for their compute mode."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from ..findings import Fix, Step
from ..snapshot import EnvVar, Missing, Snapshot, known
from ..snapshot.typed import instance_uuid, uuid_of
from .gpu_state import gpu_changes
from .where import RECHECK, batch_job, container_kind, cuda_changes, host_sudo, on_host


def unset_gpu_selection(s: Snapshot, name: str) -> Fix:
    """Remove a variable that hides GPUs."""
    return unset(s, name, " to make all GPUs visible", cuda_changes())


def unset(s: Snapshot, name: str, why: str = "", changes: dict[str, Any] | None = None) -> Fix:
    """Remove a variable; `changes`: other facts than the environment."""
    step = Step(
        text="Also remove it wherever it is set: the script, the notebook, ENV in the image, the job file.",
        command=f"unset {name}",
        where="shell",
        changes={**(changes or {}), "host.environment": environment_with(s, name, None)},
    )
    return Fix(id=f"unset-{name.lower().replace('_', '-')}", title=f"Unset {name}{why}", steps=(step,))


def show_gpus(s: Snapshot, name: str, good: Sequence[str] = ()) -> tuple[Fix, ...]:
    """Put a variable right that hides GPUs, or names some that are not there. `good`: its entries that may stay.

    In a batch job the variable is the batch system's. Where a GPU is cut into MIG instances it is never removed: CUDA
    would take the first instance, which may be somebody else's.
    """
    if batch_job(s):
        return (_leave_to_batch_system(s, name),)
    if any(known(gpu.mig_enabled) for gpu in known(s.gpus) or ()):
        return (choose_instance(s, name),)
    unset_it = unset_gpu_selection(s, name)
    return (select_gpus(s, name, ",".join(good)), unset_it) if good else (unset_it,)


def _leave_to_batch_system(s: Snapshot, name: str) -> Fix:
    step = Step(
        text=f"Remove your own setting of {name} from the job script and the program, then submit the job again: the "
        "batch system sets it to the job's GPUs.",
        where="container-start",
        changes=cuda_changes(host__environment=environment_with(s, name, None)),
    )
    return Fix(id="leave-to-batch-system", title=f"Leave {name} to the batch system", steps=(step,))


def choose_instance(s: Snapshot, name: str) -> Fix:
    """Name a MIG instance that is there and that no process uses; where that is not known, the user chooses."""
    gpus = known(s.gpus) or ()
    found = [(gpu, instance) for gpu in gpus for instance in known(gpu.mig_instances) or ()]
    idle = [i for i, (gpu, _) in enumerate(found) if known(gpu.processes) == () and not container_kind(s)]
    kinds = [(known(one.name) or "instance").rpartition(" ")[2] for _, one in found]
    title = f"Set {name} to a MIG instance that exists"
    if not idle:
        listed = ", ".join(f"{number} ({kind})" for number, kind in enumerate(kinds, 1)) or "the instances"
        text = "Choose the instance that was assigned to you; gpudoctor cannot tell which ones others use. "
        text += "nvidia-smi -L lists "
        step = Step(
            text=f"{text}{listed}. Replace N with your instance's number.",
            command=f"export {name}={instance_uuid('N')}",
            where="shell",
            changes=cuda_changes(host__environment=RECHECK),
        )
        return Fix(id="choose-mig-instance", title=title, steps=(step,))
    at = idle[0]
    gpu, instance = found[at]
    value = known(instance.uuid)
    step = Step(
        text=f"Use the {kinds[at]} on GPU {known(gpu.index) or 0}: no process runs on that GPU. If it is meant for "
        "someone else, choose a different one.",
        command=f"export {name}={uuid_of(instance, at + 1)}",
        where="shell",
        changes=cuda_changes(host__environment=environment_with(s, name, value) if value else RECHECK),
    )
    return Fix(id="choose-mig-instance", title=title, steps=(step,))


def select_gpus(s: Snapshot, name: str, value: str) -> Fix:
    """Give a variable that selects GPUs a value that is right."""
    return Fix(
        id=f"set-{name.lower().replace('_', '-')}",
        title=f"Set {name} to GPUs that exist",
        steps=(
            Step(
                text="Choose from the GPUs in this machine; set it before the program starts.",
                command=f"export {name}={quote(value)}",
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


def pci_order(s: Snapshot) -> Fix:
    """Let CUDA number the GPUs as nvidia-smi does."""
    return Fix(
        id="set-cuda-device-order",
        title="Make CUDA number the GPUs as nvidia-smi does",
        steps=(
            Step(
                text="Set it before the program starts, and check any code or script that chooses GPUs by number.",
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
