"""Persistence mode is off: the driver shuts down the GPU whenever no program is using it.

What is wrong: nothing fails, but without persistence mode the driver initializes the GPU again for the first program
after each idle period. That takes seconds on machines with many GPUs, and settings such as power limits are lost.

Symptoms: `nvidia-smi` and CUDA initialization take several seconds on an idle machine; `Persistence-M: Off`.

Why it happens: persistence mode is off unless nvidia-persistenced is running.

How to fix it: run nvidia-persistenced on the host (as root). This is only a note, and does not apply to Windows or WSL.

Source: docs.nvidia.com/deploy/driver-persistence.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.gpu_state import persistence
from ..fixes.machine import driver_platform
from ..snapshot import Snapshot, known
from ._boards import is_vgpu
from ._readings import Readings, listed

CHECK = Check(
    __name__,
    title="Persistence mode is off",
    sound="No GPU has persistence mode off",
    severity="info",
    layer="driver",
    tags=("gpu", "speed"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One note for all GPUs whose persistence mode is off."""
    if driver_platform(s) == "windows":
        raise Skip("Windows drivers have no persistence mode")
    seen, off = Readings(), []
    for gpu in listed(s):
        if not is_vgpu(gpu) and seen.of("persistence_mode", gpu.persistence_mode) is False:
            off.append(known(gpu.index))
    if off:
        which = ", ".join(str(index) for index in off if index is not None) or "all"
        yield CHECK.remark(
            "Persistence mode is off: the first program on an idle machine starts slowly",
            f"Affected GPUs: {which}.",
            facts={"indices": off},
            fixes=(persistence(s),),
        )
    seen.end("persistence mode")
