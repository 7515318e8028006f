"""Under load, a GPU's clock stayed low, and neither power nor heat was the reason.

What is wrong: the SM clock was below nine tenths of its maximum while the GPU was working (on GeForce and RTX boards:
nine tenths of the lowest clock that was measured on a healthy board of that model), although the GPU drew less than its
power limit or NVML reported no slowdown due to power or heat. If NVML shows neither power draw nor slowdown reasons,
the result is unknown.

Symptoms: all computation is slower by the same ratio, at full utilization and low power; `nvidia-smi -q -d CLOCK` shows
a low SM clock.

Why it happens: the clocks are locked (`nvidia-smi -lgc`) or application clocks are set (`-ac`), often by a tool that
needed repeatable timings and did not reset them; a profiler locks them while it runs; or the board or its firmware
limits its clock.

How to fix it: unlock the clocks and measure again. If they stay low, compare this board with another of the same model,
and have this one replaced.

How it is judged: data-center boards from Ampere on reach their maximum whenever power allows it (an H100 held 1,957 to
1,980 of 1,980 MHz in training, copies and memory work, and 1,464 in large matmuls at its power limit). Other boards do
not (a healthy RTX 4090 holds 2,625 to 2,820 of 3,105 MHz), so they are compared with the clock that others measured on
this model under load; if the matrix lists no such clock, a board is reported only if NVML gives a clock setting as the
reason.

Thresholds: clock_percent (90), slowed_samples_percent (10).

Source: NVML clocks and clock event reasons (nvml.h), sampled while `gpudoctor prove` or a watched program was running;
the H100 in benchmarks/gpus; the measured clocks in the matrix.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..snapshot import Gpu, Load, Missing, NeedsFact, Snapshot, known
from ._measured import measured
from ._readings import limit, name_of

CHECK = Check(
    __name__,
    title="A GPU's clock is held low under load",
    sound="No GPU's clock was held low under load by a setting or an unknown cause",
    severity="warning",
    layer="hardware",
    tags=("measured", "gpu", "speed"),
    downstream_of=("gpu-power-or-thermal-limited",),
)
_SLOWED = ("power-cap", "power-brake", "sw-thermal", "hw-thermal", "hw-slowdown")
_BUSY_PERCENT = 50.0
"""From this mean utilization on, the clock under load is that of enough work."""
_MOST_SAMPLES = 50.0
"""If NVML gives a clock setting as the reason in at least this percentage of the samples, it is the reason."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for each GPU, for the phase under load with its highest clock."""
    measured(s)
    from ..fixes.speed import clocks_reset, measured_again
    from ._loads import under_load

    unread = unseen = ""
    for gpu, key, work in under_load(s):
        busy = [load for load in work if (known(load.utilization_percent) or 0.0) >= _BUSY_PERCENT]
        load = max(busy, key=lambda load: known(load.clock_sm_mhz) or 0.0, default=None)
        if load is None or gpu is None:
            unseen = unseen or "no GPU is known to have been busy for at least half of the time"
            continue
        clock, most = known(load.clock_sm_mhz), known(load.clock_sm_max_mhz)
        share = limit(p, "clock_percent", 90) / 100
        if not clock or not most:
            unseen = f"NVML did not show the clock of {name_of(gpu)}"
            continue
        if clock >= share * most:
            continue
        is_set = load.reasons_percent.get("clocks-setting", 0.0) >= _MOST_SAMPLES
        usual = _usual(m, gpu)
        is_low = clock < share * usual if usual else _reaches_its_most(m, gpu)
        if not (is_set or is_low) or _explained(load, limit(p, "slowed_samples_percent", 10)):
            continue
        power, most_w = known(load.power_w), known(load.power_limit_w)
        reasons_unread = isinstance(load.reasons, Missing)
        if reasons_unread and (power is None or not most_w):
            unread = unread or f"{name_of(gpu)} ran at {clock:.0f} of {most} MHz; power or heat may explain it"
            continue
        reason = "NVML reports a clock setting as the reason" if is_set else "NVML reports no reason"
        if reasons_unread:
            reason = "NVML reported no clock event reasons, so heat may be the cause; the GPU was below its power limit"
        watts = f" The GPU drew {power:.0f} of {most_w:.0f} W." if power is not None and most_w else ""
        others = f" Healthy boards of this model hold {usual:.0f} MHz or more." if is_low and usual else ""
        yield CHECK.warn(
            f"{name_of(gpu)} ran at {clock:.0f} of {most} MHz under load",
            f"{reason}.{watts}{others} Everything that this GPU computes takes correspondingly longer.",
            facts={
                "phase": load.phase, "clock_sm_mhz": clock, "clock_sm_max_mhz": most, "usual_mhz": usual or None,
                "power_w": power, "power_limit_w": most_w, "reasons_percent": dict(load.reasons_percent),
                "samples": load.samples,
            },
            subject=key,
            fixes=measured_again([clocks_reset(s, key)]),
        )  # fmt: skip
    if unread:
        words = f"{unread}: NVML showed no clock event reasons, and the power draw or limit is unknown"
        raise NeedsFact("measured.loads", Missing("absent", words))
    if unseen:
        raise NotExamined(unseen)


def _usual(m: Matrix, gpu: Gpu) -> float:
    """The lowest clock under load that was measured on healthy boards of this model, in MHz; 0 if none was, and for a
    virtual GPU, which has the clocks that its host gives it."""
    from ._boards import is_vgpu, rows_of

    return 0.0 if is_vgpu(gpu) else m.usual_clock(rows_of(m, gpu))


def _reaches_its_most(m: Matrix, gpu: Gpu) -> bool:
    """A physical data-center board from Ampere on: a virtual GPU has the clocks that its host gives it.

    RTX boards for servers are not among them: their maximum is no more reached than that of RTX boards elsewhere."""
    from ._boards import every, is_vgpu, rows_of

    capability = known(gpu.compute_capability)
    return (
        not is_vgpu(gpu)
        and every(rows_of(m, gpu), "segment", "datacenter")
        and not any("RTX" in row.name.split() for row in rows_of(m, gpu))
        and bool(capability)
        and int(str(capability).partition(".")[0]) >= 8
    )


def _explained(load: Load, least: float) -> bool:
    """Whether power or heat may be the reason. Reasons that occur together are added up."""
    from ._measured_low import AT_LIMIT

    power, most_w = known(load.power_w), known(load.power_limit_w)
    at_limit = power is not None and bool(most_w) and power >= AT_LIMIT * (most_w or 0.0)
    return at_limit or sum(load.reasons_percent.get(name, 0.0) for name in _SLOWED) >= least
