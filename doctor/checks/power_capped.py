"""A GPU under load was held back by its power limit or its power supply.

What is wrong: in many of the samples taken under load, the GPU's power limit lowered its clocks, and that limit is
below the default; or the power supply or the rack asked the GPU to draw less (power brake).

Symptoms: clocks far below their maximum at full utilization; the GPU is slower than others of its model. NVML's clock
event reasons show the limit while the GPU is busy.

Why it happens: a lowered limit (heat, noise, cost, a provider's cap); a weak power supply, a missing cable, or a rack's
limit.

How to fix it: set the limit back to the default; check the cables and the power supply. Reaching the default limit is
normal: large matrix multiplications do so on most boards, so in that case it is only a note.

Threshold: power_cap_samples_percent (25), slowed_samples_percent (10) for a power brake.

What was examined: at least five NVML samples in a phase under load. Event reasons show that a limit was reached, not
that it cost speed: they explain a low rate only if at least 90 % of the limit was drawn and the clock was reduced as
much as the rate was.

Source: NVML clock event reasons and power limits, sampled while `gpudoctor prove` or a watched program was running.
"""

from __future__ import annotations

from typing import Any

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Gpu, Load, Snapshot, known
from ._measured import measured
from ._readings import limit, name_of

CHECK = Check(
    __name__,
    title="A GPU is limited by power under load",
    sound="No GPU was limited by power for long under load",
    severity="error",
    layer="hardware",
    tags=("measured", "gpu", "speed"),
    downstream_of=("power-limit-lowered", "gpu-power-or-thermal-limited"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for each GPU, for the phase that shows it most."""
    measured(s)
    from ..findings.measured_rates import below_default, share
    from ._loads import worst_loads

    for gpu, key, load in worst_loads(s, "power-cap", "power-brake"):
        brake, cap = share(load, "power-brake"), share(load, "power-cap")
        name = name_of(gpu) if gpu else "The GPU"
        if brake >= limit(p, "slowed_samples_percent", 10):
            yield CHECK.fail(
                f"{name} was slowed down by a power brake in {brake:.0f} % of the samples under load",
                f"The power supply or the rack asked the GPU to draw less.{_clocks(load)}",
                facts=_facts(load, gpu),
                subject=key,
                fixes=_brake(s, m, gpu, key),
            )
        elif cap >= limit(p, "power_cap_samples_percent", 25):
            lowered = below_default(gpu, load, limit(p, "power_limit_percent", 98)) and not _by_design(m, gpu)
            watts, default = known(load.power_limit_w), known(gpu.power_default_w) if gpu else None
            at = f"its limit of {watts:.0f} W" if watts else "its power limit"
            if lowered and watts and default:
                at = f"a limit of {watts:.0f} W, {100 * watts / default:.0f} % of its default"
            make = CHECK.warn if lowered else CHECK.remark
            normal = "" if lowered else " At the default limit this is normal."
            yield make(
                f"{name} ran at {at} in {cap:.0f} % of the samples under load",
                f"{_clocks(load)}{normal}".strip(),
                facts=_facts(load, gpu),
                subject=key,
                fixes=_raise(s, key, default) if lowered else (),
            )


def _by_design(m: Matrix, gpu: Gpu | None) -> bool:
    from ._boards import is_laptop, is_vgpu

    return gpu is not None and (is_vgpu(gpu) or is_laptop(m, gpu))


def _clocks(load: Load) -> str:
    now, most = known(load.clock_sm_mhz), known(load.clock_sm_max_mhz)
    return f" Its SM clock averaged {now:.0f} MHz (maximum: {most} MHz)." if now and most else ""


def _facts(load: Load, gpu: Gpu | None) -> dict[str, Any]:
    return {
        "phase": load.phase,
        "reasons_percent": dict(load.reasons_percent),
        "power_limit_w": known(load.power_limit_w),
        "power_default_w": known(gpu.power_default_w) if gpu else None,
        "clock_sm_mhz": known(load.clock_sm_mhz),
        "clock_sm_max_mhz": known(load.clock_sm_max_mhz),
        "samples": load.samples,
    }


def _raise(s: Snapshot, key: str, default: float | None) -> tuple[Any, ...]:
    from ..fixes.gpu_state import default_power_limit
    from ..fixes.speed import measured_again

    return measured_again(default_power_limit(s, key, default)) if default else ()


def _brake(s: Snapshot, m: Matrix, gpu: Gpu | None, key: str) -> tuple[Any, ...]:
    from ..fixes.gpu_state import power
    from ..fixes.speed import measured_again
    from ._boards import has_power_sockets

    return measured_again(power(s, key, gpu is not None and has_power_sockets(s, m, gpu)))
