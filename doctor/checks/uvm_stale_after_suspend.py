"""CUDA returns 999 (unknown error) although the driver, nodes and permissions are fine, usually after a suspend.

What is wrong: the nvidia-uvm module keeps state that does not survive suspend and resume. CUDA then returns `unknown
error` until the module is reloaded; graphics and nvidia-smi keep working.

Symptoms: `CUDA unknown error - this may be due to an incorrectly set up environment`, `cuInit` 999, on a laptop or
desktop that was suspended; it worked before, and works again after a reboot.

Why it happens: suspend and resume without the driver's own services. Other causes of 999 are rarer: a GPU that needs a
reset (Xid lines in the kernel log), or a mix of two driver versions.

How to fix it: reload nvidia-uvm, or reboot. gpudoctor cannot see whether the machine was suspended; it infers this from
the fact that everything else is fine.

Source: NVIDIA driver README, power management; CUDA Driver API, CUDA_ERROR_UNKNOWN.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.restart import reload_uvm
from ..fixes.where import container_kind
from ..snapshot import Snapshot, known, need
from ._seen import BROKEN_DRIVER, DRIVERLESS, LIBRARIES, NODES, is_wsl, need_cuda_code, nodes_of

CHECK = Check(
    __name__,
    title="CUDA returns 'unknown error' (stale nvidia-uvm)",
    sound="There is no sign of a stale nvidia-uvm module",
    severity="critical",
    layer="driver",
    tags=("driver",),
    downstream_of=(*DRIVERLESS, *BROKEN_DRIVER, *NODES, *LIBRARIES, "gpu-fell-off-bus"),
)

CUDA_UNKNOWN = 999


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Inferred: on a host, CUDA returns 999, NVML works, and the uvm node and module exist."""
    if need_cuda_code(s) != CUDA_UNKNOWN:
        return
    if is_wsl(s) or container_kind(s):
        raise Skip("not checked in WSL or in a container")
    need("driver.device_nodes", s.driver.device_nodes)
    if need("driver.nvml_init", s.driver.nvml_init) != 0 or not nodes_of(s, "uvm"):
        return
    modules = known(s.driver.modules)
    if modules is not None and "nvidia_uvm" not in modules:
        return
    yield CHECK.fail(
        "CUDA returns 999 (unknown error) although the driver works, usually because nvidia-uvm is stale after a "
        "suspend",
        "NVML works, and the nodes and nvidia-uvm exist, but CUDA returns 999. If this machine was suspended since its "
        "last boot, reload nvidia-uvm; if not, look for Xid lines in the kernel log.",
        facts={"cuda_code": CUDA_UNKNOWN, "nvml_init": 0},
        direct=False,
        fixes=reload_uvm(s),
    )
