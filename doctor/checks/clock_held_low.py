"""Under load a GPU's clock stayed low, and neither power nor heat was the reason.

What is wrong: the SM clock was below nine tenths of its maximum while the GPU worked, although it drew less than its
limit and NVML named no slowdown by power or heat.

Symptoms: everything that computes is slower by the same share, at full utilization and little power;
`nvidia-smi -q -d CLOCK` shows a low SM clock.

Why it happens: the clocks are locked (`nvidia-smi -lgc`) or application clocks are set (`-ac`), often by a tool that
wanted repeatable timings and did not set them back; a profiler that locks them while it runs; or a board or its
firmware that holds itself back.

How to fix it: unlock the clocks, and measure again. If they stay low, compare with another board of this model, and
return this one.

How it is judged: data-center boards from Ampere on reach their maximum whenever power allows it (an H100 held 1,957 to
1,980 of 1,980 MHz in training, copies and memory work, and 1,464 in large products at its power limit). Other boards do
not (a sound RTX 4090 holds 2,655 to 2,820 of 3,105 MHz), so there NVML has to name set clocks as the reason.

Threshold: clock_percent (90), slowed_samples_percent (10).

Source: NVML clocks and clock event reasons (nvml.h), sampled while `gpudoctor prove` or a watched program worked; the
H100 in benchmarks/gpus.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Gpu, Load, Snapshot, known
from ._measured import measured
from ._readings import limit, name_of

CHECK = Check(
    __name__,
    title="Under load a GPU's clock is held low",
    sound="No GPU's clock was held low under load",
    severity="warning",
    layer="hardware",
    tags=("measured", "gpu", "speed"),
    downstream_of=("gpu-power-or-thermal-limited",),
)
_SLOWED = ("power-cap", "power-brake", "sw-thermal", "hw-thermal", "hw-slowdown")
_BUSY_PERCENT = 50.0
"""Mean utilization from which on a mean clock is that of work, and not of pauses."""
_MOST_SAMPLES = 50.0
"""Percent of the samples in which NVML names set clocks, from which on they are the reason."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for each GPU, of the phase under load with its highest clock."""
    measured(s)
    from ..fixes.speed import clocks_reset, measured_again
    from ._loads import under_load

    for gpu, key, work in under_load(s):
        busy = [load for load in work if (known(load.utilization_percent) or 0.0) >= _BUSY_PERCENT]
        load = max(busy, key=lambda load: known(load.clock_sm_mhz) or 0.0, default=None)
        if load is None or gpu is None:
            continue
        clock, most = known(load.clock_sm_mhz), known(load.clock_sm_max_mhz)
        if not clock or not most or clock >= limit(p, "clock_percent", 90) / 100 * most:
            continue
        is_set = load.reasons_percent.get("clocks-setting", 0.0) >= _MOST_SAMPLES
        if not (is_set or _reaches_its_most(m, gpu)) or _explained(load, limit(p, "slowed_samples_percent", 10)):
            continue
        reason = "NVML names set clocks as the reason" if is_set else "NVML names no reason"
        power, most_w = known(load.power_w), known(load.power_limit_w)
        watts = f", at {power:.0f} of {most_w:.0f} W" if power is not None and most_w else ""
        yield CHECK.warn(
            f"{name_of(gpu)} ran at {clock:.0f} of {most} MHz under load",
            f"{reason}{watts}. Everything that it computes takes longer by that share.",
            facts={
                "phase": load.phase, "clock_sm_mhz": clock, "clock_sm_max_mhz": most, "power_w": power,
                "power_limit_w": most_w, "reasons_percent": dict(load.reasons_percent), "samples": load.samples,
            },
            subject=key,
            fixes=measured_again([clocks_reset(s, key)]),
        )  # fmt: skip


def _reaches_its_most(m: Matrix, gpu: Gpu) -> bool:
    """A data-center board from Ampere on, of its own: a virtual GPU has the clocks that its host gives it."""
    from ._boards import every, is_vgpu, rows_of

    capability = known(gpu.compute_capability)
    return (
        not is_vgpu(gpu)
        and every(rows_of(m, gpu), "segment", "datacenter")
        and bool(capability)
        and int(str(capability).partition(".")[0]) >= 8
    )


def _explained(load: Load, least: float) -> bool:
    """Whether power or heat may be why. Two reasons at a time count together."""
    from ._measured_low import AT_LIMIT

    power, most_w = known(load.power_w), known(load.power_limit_w)
    at_limit = power is not None and bool(most_w) and power >= AT_LIMIT * (most_w or 0.0)
    return at_limit or sum(load.reasons_percent.get(name, 0.0) for name in _SLOWED) >= least
