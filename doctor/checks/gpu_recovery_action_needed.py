"""The driver says that a GPU needs a reset or a reboot.

What is wrong: after an error, the driver has marked the GPU. It will not work correctly until the GPU has been reset,
the node rebooted, its peer-to-peer traffic drained, or the IMEX domain (memory shared between machines over NVLink)
recovered.

Symptoms: `nvidia-smi -q` prints `GPU Recovery Action: Reset` (or Reboot, Drain P2P ...); Xid 154 in the kernel log;
CUDA errors 719, 46, 999 in programs.

Why it happens: an uncorrectable memory error, a GPU firmware hang, an NVLink error.

How to fix it: perform the action that the driver names. In a container or on a rented machine, use another host.

The actions: 0 none, 1 GPU reset, 2 node reboot, 3 drain P2P, 4 drain and reset (driver 570); 5 bus reset in driver 580,
IMEX domain recovery from 610 on; 6 bus reset, 7 system reboot (615).

Source: NVML nvmlDeviceGpuRecoveryAction_t (nvml.h of CUDA 12.8, 13.3; nvidia-ml-py 13.580.65, 13.615.71; change log of
NVML 615); for what each requires, docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt, Error Recovery and Response Flags;
Xid 154, docs.nvidia.com/deploy/xid-errors.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.gpu_state import recover_imex, reset
from ..snapshot import Snapshot, known
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="A GPU needs a reset or reboot",
    sound="No GPU needs a reset or reboot",
    severity="critical",
    layer="hardware",
    tags=("gpu", "health"),
    downstream_of=("gpu-hardware-ecc-fault", "row-remap-pending", "gpu-fell-off-bus"),
)

_ACTIONS = {
    1: "a reset", 2: "a reboot of the machine", 3: "its peer-to-peer traffic drained", 4: "a drain and reset",
    6: "a reset of its PCIe bus", 7: "a reboot of the machine",
}  # fmt: skip
_REBOOT, _IMEX = (2, 6, 7), "its IMEX domain recovered"
"""Actions for which a reset of the GPU alone is not enough."""


def _words(s: Snapshot, action: int) -> str:
    """What the driver asks for. Number 5 changed its meaning between drivers, and has none in the drivers between."""
    if action == 5:
        branch = (known(s.driver.nvml_driver_version) or "").partition(".")[0]
        number = int(branch) if branch.isdecimal() else 0
        return _IMEX if number >= 610 else "a reset of its PCIe bus" if 580 <= number < 590 else "recovery action 5"
    return _ACTIONS.get(action, f"recovery action {action}")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each GPU whose recovery action is not 0."""
    seen = Readings()
    for gpu in listed(s):
        action = seen.of("recovery_action", gpu.recovery_action)
        if not action:
            continue
        words = _words(s, action)
        fixes = recover_imex(s, gpu.key) if words == _IMEX else reset(s, gpu.key)
        if action in _REBOOT or "PCIe" in words:
            fixes = tuple(fix for fix in fixes if fix.id != "reset-gpu")
        yield CHECK.fail(
            f"{name_of(gpu)} needs {words}, according to its driver",
            "The GPU had an error from which it cannot recover by itself: see the Xid lines in the kernel log.",
            facts={"recovery_action": action},
            subject=gpu.key,
            fixes=fixes,
        )
    seen.end("a recovery action")
