"""A GPU under load was slowed down by heat.

What is wrong: in many of the samples taken under load, NVML reported a thermal reason for lower clocks.

Symptoms: speed drops a few seconds or minutes after the start; clocks far below their maximum.

Why it happens: dust, a dead fan, a passively cooled board without server airflow, a warm room; memory that is hotter
than the chip. Laptops do this by design, so on them it is only a note.

How to fix it: improve the cooling; until then, lowering the power limit by a few tens of watts costs little speed.

Threshold: slowed_samples_percent (10). A slowdown by the driver is a warning; a slowdown by the hardware is a failure.

Source: NVML clock event reasons, sampled while `gpudoctor prove` or a watched program was running.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Snapshot, known
from ._measured import measured
from ._readings import limit, name_of

CHECK = Check(
    __name__,
    title="A GPU is slowed down by heat under load",
    sound="No GPU was slowed down by heat for long under load",
    severity="error",
    layer="hardware",
    tags=("measured", "gpu", "health", "speed"),
    downstream_of=("gpu-too-hot", "gpu-power-or-thermal-limited"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for each GPU, for the phase that shows it most."""
    measured(s)
    from ..findings.measured_rates import THERMAL, share
    from ..fixes.gpu_state import cool
    from ..fixes.speed import measured_again
    from ._boards import is_laptop
    from ._loads import worst_loads

    least = limit(p, "slowed_samples_percent", 10)
    for gpu, key, load in worst_loads(s, *THERMAL):
        percent = share(load, *THERMAL)
        if percent < least:
            continue
        laptop = gpu is not None and is_laptop(m, gpu)
        make = CHECK.remark if laptop else CHECK.fail if share(load, "hw-thermal") >= least else CHECK.warn
        heat, clock = known(load.temperature_max_c), known(load.clock_sm_mhz)
        words = [f"It reached {heat} C."] if heat is not None else []
        if clock:
            words.append(f"Its SM clock was {clock:.0f} MHz (maximum: {known(load.clock_sm_max_mhz) or '?'} MHz).")
        name = name_of(gpu) if gpu else "The GPU"
        yield make(
            f"{name} was slowed down by heat in {percent:.0f} % of the samples under load",
            " ".join(words),
            facts={
                "phase": load.phase,
                "reasons_percent": dict(load.reasons_percent),
                "temperature_max_c": heat,
                "clock_sm_mhz": clock,
                "clock_sm_max_mhz": known(load.clock_sm_max_mhz),
                "samples": load.samples,
            },
            subject=key,
            fixes=measured_again(cool(s, key)),
        )
