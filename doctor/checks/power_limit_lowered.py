"""A GPU's power limit is below its default.

What is wrong: the enforced limit is lower than the one that the board was sold with, so the board is slower under full
load.

Symptoms: benchmark results are lower than on other GPUs of this model; `nvidia-smi -q -d POWER` shows a `Current Power
Limit` lower than the `Default Power Limit`.

Why it happens: someone lowered it on purpose (heat, noise, power supply, cost), often in a startup script; a provider
sells the GPU with a cap; some boards lower it themselves when a power cable is missing.

How to fix it: set it back to the default (as root on the host), or switch to a different host. If it was lowered on
purpose, you can leave it: speed drops less than power does.

Threshold: power_limit_percent (98): below this percentage of the default, the limit counts as lowered. Laptops are not
judged, because their limit depends on battery and chassis.

Source: nvidia-smi(1), power limits; NVML nvmlDeviceGetEnforcedPowerLimit.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.gpu_state import CABLES, default_power_limit
from ..snapshot import Snapshot
from ._boards import has_power_sockets, is_laptop, is_vgpu
from ._readings import Readings, limit, listed, name_of

CHECK = Check(
    __name__,
    title="The power limit is below the default",
    sound="No power limit is clearly below its default",
    severity="warning",
    layer="hardware",
    tags=("gpu", "health", "speed"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each GPU whose enforced limit is below its default."""
    seen = Readings()
    for gpu in listed(s):
        if is_vgpu(gpu) or is_laptop(m, gpu):
            continue
        now, default = seen.of("power_limit_w", gpu.power_limit_w), seen.of("power_default_w", gpu.power_default_w)
        if now is None or default is None or default <= 0 or now * 100 >= default * limit(p, "power_limit_percent", 98):
            continue
        percent = round(now / default * 100)
        detail = "Under full load it is slower than other GPUs of its model."
        if has_power_sockets(s, m, gpu):
            detail += f" If it was not lowered on purpose, {CABLES[0].lower()}{CABLES[1:]}"
        yield CHECK.warn(
            f"The power limit of {name_of(gpu)} is {now:.0f} W, {percent} % of its default of {default:.0f} W",
            detail,
            facts={"power_limit_w": now, "power_default_w": default, "percent": percent},
            subject=gpu.key,
            fixes=default_power_limit(s, gpu.key, default),
        )
    seen.end("power limits")
