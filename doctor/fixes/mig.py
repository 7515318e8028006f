"""Fixes of MIG: instances, the mode, and which instance a program gets."""

from __future__ import annotations

from typing import Any

from ..findings import Fix
from ..snapshot import Snapshot, known
from .driver import other_host
from .gpu_state import gpu_changes
from .where import RECHECK, container_kind, cuda_changes, guest, host_sudo, on_host

_SOURCE = "docs.nvidia.com/datacenter/tesla/mig-user-guide"


def no_instance(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Make instances, or switch MIG off; inside a container, be given an instance."""
    root = host_sudo(s)
    index = next((known(g.index) for g in known(s.gpus) or () if g.key == key), None)
    choice = "" if index is None else f" -i {index}"
    make = Fix(
        id="make-mig-instances",
        title="Make MIG instances" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "'nvidia-smi mig -lgip' lists the profiles; -C makes the compute instances too.",
                f"{root}nvidia-smi mig{choice} -cgi PROFILE,PROFILE -C",
                _changes(s, key, mig_instances=RECHECK),
            ),
        ),
        note="A reboot removes them: a service such as nvidia-mig-parted makes them again.",
        source=_SOURCE,
    )
    off = Fix(
        id="switch-mig-off",
        title="Switch MIG off and use the whole GPU",
        steps=(
            on_host(
                s,
                "When no program on this GPU is needed any more, stop all that use it. The instances are gone then; "
                "some boards need a reset or reboot after it.",
                f"{root}nvidia-smi{choice} -mig 0",
                _changes(s, key, mig_enabled=False, mig_pending=False),
            ),
        ),
        source=_SOURCE,
    )
    away = other_host(s, "that gives this container a MIG instance or a whole GPU")
    return (away, make, off) if guest(s) else (make, off)


def _changes(s: Snapshot, key: str, **facts: Any) -> dict[str, Any]:
    return cuda_changes(**gpu_changes(s, key, **facts))
