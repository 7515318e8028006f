"""A virtual GPU (vGPU) has no license.

What is wrong: a hypervisor's virtual GPU runs at full speed and with all features only with a license from NVIDIA's
license server. This one has no license.

Symptoms: after a few minutes everything is slow (clocks and frame rates are limited), and CUDA programs fail with `all
CUDA-capable devices are busy or unavailable` (46); `nvidia-smi -q` shows `License Status: Unlicensed`; nvidia-gridd's
log gives the reason.

Why it happens: no token file in /etc/nvidia/ClientConfigToken, a license server that cannot be reached, a wrong system
clock, the wrong FeatureType in gridd.conf.

How to fix it: put the client token in that folder and restart nvidia-gridd; on a rented machine, ask the provider.

Source: Virtual GPU Client Licensing User Guide, docs.nvidia.com/vgpu.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.vgpu import license_vgpu
from ..snapshot import Snapshot
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="A virtual GPU has no license",
    sound="No virtual GPU lacks a license",
    severity="error",
    layer="driver",
    tags=("gpu", "vgpu"),
)

_GUEST = 2
_DEVICES_UNAVAILABLE = 46


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for a virtual GPU without a license; fails if CUDA already refuses to run."""
    seen, virtual = Readings(), 0
    for gpu in listed(s):
        mode = seen.of("virtualization_mode", gpu.virtualization_mode)
        if mode != _GUEST:
            continue
        virtual += 1
        if seen.of("vgpu_licensed", gpu.vgpu_licensed) is not False:
            continue
        refused = s.torch_run.first_call_code == _DEVICES_UNAVAILABLE or s.driver.cu_init == _DEVICES_UNAVAILABLE
        make = CHECK.fail if refused else CHECK.warn
        yield make(
            f"{name_of(gpu)} is a virtual GPU without a license",
            "CUDA returns 46 (devices unavailable)." if refused else "It will be slow and reject CUDA programs.",
            facts={"vgpu_licensed": False},
            subject=gpu.key,
            fixes=license_vgpu(s, gpu.key),
        )
    seen.end("a virtualization mode")
    if not virtual:
        raise Skip("no virtual GPU")
