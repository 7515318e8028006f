"""The driver says that a GPU needs a reset or a reboot.

What is wrong: after an error the driver itself marks the GPU: it will not work rightly until it was reset, the node
rebooted or its peers drained.

How it shows: `nvidia-smi -q` prints `GPU Recovery Action: Reset` (or Reboot, Drain P2P, Drain and Reset); Xid 154 in
the kernel log; CUDA errors 719, 46, 999 in programs.

Why it happens: an uncorrectable memory error, a hang of the GPU's firmware, an NVLink error.

How to fix it: what the action says. In a container or rented machine take another host.

Source: NVML nvmlDeviceGpuRecoveryAction_t (nvml.h); Xid 154, docs.nvidia.com/deploy/xid-errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy
from ..fixes.gpu_state import reset
from ..snapshot import Snapshot
from ._readings import Readings, listed, name_of

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="A GPU needs a reset or reboot",
    sound="No GPU asks for a reset or reboot",
    severity="critical",
    layer="hardware",
    tags=("gpu", "health"),
    downstream_of=("gpu-hardware-ecc-fault", "row-remap-pending", "gpu-fell-off-bus"),
)

_ACTIONS = {1: "reset", 2: "reboot of the machine", 3: "drain of its peer-to-peer traffic", 4: "drain and reset"}


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails for each GPU whose recovery action is not 0."""
    seen = Readings()
    for gpu in listed(s):
        action = seen.of("recovery_action", gpu.recovery_action)
        if not action:
            continue
        words = _ACTIONS.get(action, f"recovery action {action}")
        fixes = reset(s, gpu.key)
        if action == 2:  # a reset of the GPU alone is not enough
            fixes = tuple(fix for fix in fixes if fix.id != "reset-gpu")
        yield CHECK.fail(
            f"{name_of(gpu)} needs a {words}, says its driver",
            "It had an error that it does not recover from by itself; see Xid lines in the kernel log.",
            facts={"recovery_action": action},
            subject=gpu.key,
            fixes=fixes,
        )
    seen.end("a recovery action")
