"""A GPU is being slowed down by heat, by its power supply, or by its hardware protection.

What is wrong: the GPU reports why its clocks are lower than they could be. Three of these reasons are faults: a thermal
slowdown, a power brake (the power supply or the rack requests less power) and a hardware slowdown.

Symptoms: work takes several times longer than on an identical GPU; `nvidia-smi -q -d PERFORMANCE` lists the reason.

Why it happens: the chip or its memory is hot; a power cable is missing or a power supply is at its limit; the rack's
power brake is on. A laptop does this by design, on battery or because of its thin case; that is only a note.

How to fix it: depending on the reason, cool the GPU, or check cables and power supplies. Reaching the power limit under
full load (SW power cap) is normal and only a note.

Source: NVML clocks event reasons (nvml.h); nvidia-smi(1), clocks event reasons.
"""

from __future__ import annotations

from ..findings import Check, Findings, Fix, Matrix, Policy
from ..fixes.gpu_state import cool, power
from ..snapshot import Gpu, Snapshot, known
from ._boards import has_power_sockets, is_laptop
from ._readings import HW_SLOWDOWN, HW_THERMAL, POWER_BRAKE, POWER_CAP, SW_THERMAL, Readings, listed, loaded, name_of

CHECK = Check(
    __name__,
    title="A GPU is slowed down by heat or power",
    sound="No GPU is slowed down by heat or power",
    severity="error",
    layer="hardware",
    tags=("gpu", "health", "speed"),
    downstream_of=("gpu-too-hot",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails under load for a hardware reason, warns for a software thermal one; an idle GPU gives only a warning."""
    seen = Readings()
    for gpu in listed(s):
        reasons = seen.of("clock_event_reasons", gpu.clock_event_reasons)
        if not reasons:
            continue
        busy = loaded(gpu)
        facts = {
            "clock_event_reasons": reasons, "utilization_percent": known(gpu.utilization_percent),
            "clock_sm_mhz": known(gpu.clock_sm_mhz), "clock_sm_max_mhz": known(gpu.clock_sm_max_mhz),
        }  # fmt: skip
        cause = _in_words(reasons, busy)
        if cause:
            hard = reasons & (HW_THERMAL | POWER_BRAKE | HW_SLOWDOWN) and busy
            make = CHECK.remark if is_laptop(m, gpu) else CHECK.fail if hard else CHECK.warn
            yield make(
                f"{name_of(gpu)} is throttling: {cause}",
                _clocks(gpu),
                facts=facts,
                subject=gpu.key,
                fixes=_fixes(s, m, gpu, reasons),
            )
        elif reasons & POWER_CAP and busy:
            yield CHECK.remark(f"{name_of(gpu)} {_capped(gpu)}", _clocks(gpu), facts=facts, subject=gpu.key)
    seen.end("why its clocks are low")


def _in_words(reasons: int, busy: bool) -> str:
    if reasons & POWER_BRAKE:
        return "power brake (the power supply or the rack requests less power)"
    if reasons & HW_THERMAL:
        return "hardware thermal slowdown"
    if reasons & HW_SLOWDOWN and busy:  # some idle boards and laptops set it without a cause
        return "hardware slowdown (heat or power)"
    if reasons & SW_THERMAL and busy:
        return "thermal slowdown by the driver (the chip or its memory is hot)"
    return ""


def _capped(gpu: Gpu) -> str:
    """Clock and power are read one after the other, so only what both support is reported."""
    now, most = known(gpu.clock_sm_mhz), known(gpu.clock_sm_max_mhz)
    draw, most_w = known(gpu.power_draw_w), known(gpu.power_limit_w)
    if draw is not None and most_w and draw < _NEAR * most_w:
        drawn = f"although it draws only {draw:.0f} W of {most_w:.0f} W"
        return f"reports its power limit as a reason for a lower clock, {drawn}"
    if now is not None and most and now < most / 2:
        return "is held far below its maximum clock by its power limit"
    return "is running at its power limit, which is normal for a busy GPU"


_NEAR = 0.8
"""Share of the power limit above which the draw counts as being at the limit."""


def _clocks(gpu: Gpu) -> str:
    now, most = known(gpu.clock_sm_mhz), known(gpu.clock_sm_max_mhz)
    return "" if now is None or most is None else f"Its SM clock is {now} MHz (maximum {most} MHz)."


def _fixes(s: Snapshot, m: Matrix, gpu: Gpu, reasons: int) -> tuple[Fix, ...]:
    heat = reasons & (SW_THERMAL | HW_THERMAL) and not reasons & POWER_BRAKE
    return cool(s, gpu.key) if heat else power(s, gpu.key, has_power_sockets(s, m, gpu))
