"""Fixes for MIG: instances, the mode, and which instance a program gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..findings import Fix, Step
from ..snapshot import Gpu, Snapshot, known
from ..snapshot.typed import uuids_of
from .driver import other_host
from .gpu_state import gpu_changes
from .selection import environment_with
from .where import RECHECK, container_kind, cuda_changes, guest, host_sudo, on_host

_SOURCE = "docs.nvidia.com/datacenter/tesla/mig-user-guide"


def no_instance(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Create instances, or turn off MIG; inside a container, get an instance."""
    root, choice = host_sudo(s), _choice(s, key)
    whole = [g for g in known(s.gpus) or () if g.key != key and known(g.mig_enabled) is not True]
    make = Fix(
        id="make-mig-instances",
        title="Create MIG instances" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "'nvidia-smi mig -lgip' lists the profiles; -C creates the compute instances too."
                + _then_hidden(whole),
                f"{root}nvidia-smi mig{choice} -cgi PROFILE,PROFILE -C",
                _changes(s, key, mig_instances=RECHECK),
            ),
        ),
        note="A reboot removes them; a service such as nvidia-mig-parted can create them again.",
        source=_SOURCE,
    )
    off = switch_off(s, key)
    away = other_host(s, "that gives this container a MIG instance or a whole GPU")
    return (away, make, off) if guest(s) else (make, off)


def switch_off(s: Snapshot, key: str) -> Fix:
    """Switch MIG off on one GPU."""
    others = any(known(g.mig_instances) for g in known(s.gpus) or () if g.key != key)
    this = [g for g in known(s.gpus) or () if g.key == key and others]
    return Fix(
        id="switch-mig-off",
        title="Turn off MIG and use the whole GPU",
        steps=(
            on_host(
                s,
                "Once the programs on this GPU are no longer needed, stop everything that uses it. This removes the "
                f"instances; some boards need a reset or reboot afterwards.{_then_hidden(this)}",
                f"{host_sudo(s)}nvidia-smi{_choice(s, key)} -mig 0",
                _changes(s, key, mig_enabled=False, mig_pending=False, mig_instances=()),
            ),
        ),
        source=_SOURCE,
    )


def _choice(s: Snapshot, key: str) -> str:
    """nvidia-smi's option for one GPU; without it, the command applies to all of them."""
    found = [g for g in known(s.gpus) or () if g.key == key]
    numbers = [known(number) for g in found for number in (g.index, g.pci_address) if known(number) is not None]
    return f" -i {numbers[0]}" if numbers else ""


def _then_hidden(gpus: Sequence[Gpu]) -> str:
    """CUDA shows a process one MIG instance and no whole GPU if there is any instance."""
    if not gpus:
        return ""
    names = " and ".join(f"{known(gpu.name) or 'GPU'} ({known(gpu.index)})" for gpu in gpus)
    return (
        f" While any MIG instance exists, CUDA hides whole GPUs: programs that use {names} must then name the GPU in "
        "CUDA_VISIBLE_DEVICES."
    )


def choose_whole(s: Snapshot, whole: Sequence[Gpu]) -> Fix:
    """Name the GPUs that are not cut into instances: CUDA lists them only where they are named."""
    indices = ",".join(str(known(gpu.index)) for gpu in whole)
    uuids = [known(gpu.uuid) for gpu in whole]
    value = ",".join(uuid for uuid in uuids if uuid)
    step = Step(
        text="Set it before the program starts. For programs that use a MIG instance, set it to that instance instead.",
        command=f"export CUDA_VISIBLE_DEVICES={uuids_of(whole)}",
        where="shell",
        changes=cuda_changes(
            host__environment=environment_with(s, "CUDA_VISIBLE_DEVICES", value) if all(uuids) else RECHECK,
            gpus=RECHECK,
        ),
    )
    title = f"Make CUDA use the whole GPU{'s' * (len(whole) > 1)} ({indices})"
    return Fix(id="choose-whole-gpus", title=title, steps=(step,), source=_SOURCE)


def _changes(s: Snapshot, key: str, **facts: Any) -> dict[str, Any]:
    return cuda_changes(**gpu_changes(s, key, **facts))
