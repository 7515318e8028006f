"""Under load a GPU's clock stayed low, and neither power nor heat was the reason.

What is wrong: the SM clock was below nine tenths of its maximum while the GPU worked, although the GPU drew less than
its power limit and NVML reported no slowdown due to power or heat.

Symptoms: all computation is slower by the same ratio, at full utilization and low power; `nvidia-smi -q -d CLOCK` shows
a low SM clock.

Why it happens: the clocks are locked (`nvidia-smi -lgc`) or application clocks are set (`-ac`), often by a tool that
needed repeatable timings and did not reset them; a profiler locks them while it runs; or the board or its firmware
limits its clock.

How to fix it: unlock the clocks and measure again. If they stay low, compare with another board of this model, and
return this one.

How it is judged: data-center boards from Ampere on reach their maximum whenever power allows it (an H100 held 1,957 to
1,980 of 1,980 MHz in training, copies and memory work, and 1,464 in large products at its power limit). Other boards do
not (a healthy RTX 4090 holds 2,655 to 2,820 of 3,105 MHz), so for those NVML must give a clock setting as the reason.

Threshold: clock_percent (90), slowed_samples_percent (10).

Source: NVML clocks and clock event reasons (nvml.h), sampled while `gpudoctor prove` or a watched program was running;
the H100 in benchmarks/gpus.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Gpu, Load, Snapshot, known
from ._measured import measured
from ._readings import limit, name_of

CHECK = Check(
    __name__,
    title="A GPU's clock is held low under load",
    sound="No GPU's clock was held low under load",
    severity="warning",
    layer="hardware",
    tags=("measured", "gpu", "speed"),
    downstream_of=("gpu-power-or-thermal-limited",),
)
_SLOWED = ("power-cap", "power-brake", "sw-thermal", "hw-thermal", "hw-slowdown")
_BUSY_PERCENT = 50.0
"""From this mean utilization on, a mean clock reflects work and not pauses."""
_MOST_SAMPLES = 50.0
"""If NVML gives a clock setting as the reason in at least this percentage of the samples, it is the reason."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for each GPU, for the phase under load with its highest clock."""
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
        reason = "NVML gives a clock setting as the reason" if is_set else "NVML gives no reason"
        power, most_w = known(load.power_w), known(load.power_limit_w)
        watts = f", at {power:.0f} of {most_w:.0f} W" if power is not None and most_w else ""
        yield CHECK.warn(
            f"{name_of(gpu)} ran at {clock:.0f} of {most} MHz under load",
            f"{reason}{watts}. Everything that it computes takes correspondingly longer.",
            facts={
                "phase": load.phase, "clock_sm_mhz": clock, "clock_sm_max_mhz": most, "power_w": power,
                "power_limit_w": most_w, "reasons_percent": dict(load.reasons_percent), "samples": load.samples,
            },
            subject=key,
            fixes=measured_again([clocks_reset(s, key)]),
        )  # fmt: skip


def _reaches_its_most(m: Matrix, gpu: Gpu) -> bool:
    """A physical data-center board from Ampere on: a virtual GPU has the clocks that its host gives it."""
    from ._boards import every, is_vgpu, rows_of

    capability = known(gpu.compute_capability)
    return (
        not is_vgpu(gpu)
        and every(rows_of(m, gpu), "segment", "datacenter")
        and bool(capability)
        and int(str(capability).partition(".")[0]) >= 8
    )


def _explained(load: Load, least: float) -> bool:
    """Whether power or heat may be the reason. Reasons that occur together are added up."""
    from ._measured_low import AT_LIMIT

    power, most_w = known(load.power_w), known(load.power_limit_w)
    at_limit = power is not None and bool(most_w) and power >= AT_LIMIT * (most_w or 0.0)
    return at_limit or sum(load.reasons_percent.get(name, 0.0) for name in _SLOWED) >= least
