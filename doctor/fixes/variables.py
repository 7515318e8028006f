"""Fixes of environment variables that are not about which GPUs are visible."""

from __future__ import annotations

from ..findings import Fix, Step
from ..snapshot import Snapshot
from .selection import environment_with
from .where import RECHECK


def unset(s: Snapshot, name: str) -> Fix:
    """Remove a variable."""
    return Fix(
        id=f"unset-{name.lower().replace('_', '-')}",
        title=f"Unset {name}",
        steps=(
            Step(
                text="Also remove it where it is set: the script, the notebook, ENV in the image, the job file.",
                command=f"unset {name}",
                where="shell",
                changes={"host.environment": environment_with(s, name, None)},
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
