"""Device memory is slower than it should be on this GPU.

What is wrong: copies within device memory, with buffers too large for the cache, run more than 10 % below the lowest
rate that others have measured on this model, or at less than the share of the nameplate bandwidth that the slowest
listed board of its kind reaches.

Symptoms: normalization, element-wise work, attention decoding and optimizer steps are slow; large matrix
multiplications are not.

Why it happens: memory clocks below their maximum (a power state, locked clocks, hot memory), or other programs on the
GPU. ECC on boards with GDDR memory costs a few percent and is not a fault.

How to fix it: reset locked memory clocks (nvidia-smi -rmc), cool the board, and measure while nothing else uses the
GPU.

What was examined: copies and triads of large buffers, memory clocks, heat, other programs on the GPU. A power limit
does not excuse a low rate here, because it hardly slows memory down.

Source: the matrix's measured and nameplate bandwidths; `gpudoctor prove --quick`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Findings, Fix, Policy
from ..snapshot import Snapshot, known

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..findings.measured_rates import Ranged

CHECK = Check(
    __name__,
    title="Device memory is slower than it should be on this GPU",
    sound="Memory bandwidth is not below the expected range",
    severity="error",
    layer="speed",
    tags=("measured", "gpu", "memory", "speed"),
    downstream_of=(
        "thermally-throttled",
        "power-capped",
        "gpu-too-hot",
        "gpu-power-or-thermal-limited",
        "gpu-slower-than-siblings",
    ),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for each GPU whose memory copies are below its range."""
    from ._measured import measured

    measured(s)
    from ._measured_low import low_rates

    yield from low_rates(CHECK, s, m, p, "memory", "memory bandwidth", lambda low: _explain(s, low))


def _explain(s: Snapshot, low: list[Ranged]) -> tuple[str, tuple[Fix, ...]]:
    from ..findings.measured_rates import share
    from ..fixes.speed import clocks_reset, here, measured_again

    gpu, load = low[0].gpu, low[0].load
    clock, most = known(load.clock_memory_mhz) if load else None, known(gpu.clock_memory_max_mhz) if gpu else None
    free = here(
        "prove-again",
        "Measure on a free GPU",
        "First stop the other programs on it, including those in other containers.",
    )
    locked = measured_again((clocks_reset(s, gpu.key, memory=True),)) if gpu else ()
    if clock and most and clock < 0.95 * most:
        words = (
            f"The memory clock was {clock:.0f} MHz (maximum: {most} MHz): suspect locked clocks, a power state or heat."
        )
        return words, locked
    if load and share(load, "sw-thermal", "hw-thermal") > 0:
        return "Heat slowed the GPU down during the measurement; memory is often hotter than the chip.", locked or (
            free,
        )
    if clock and most:
        from ..fixes.gpu_state import replace_board

        words = f"The memory clock was {clock:.0f} MHz, which is its maximum"
        away = measured_again(replace_board(s, gpu.key)) if gpu else ()
        if load and known(load.others) == 0:
            again = here(
                "prove-again", "Measure again", "If the memory is defective, the figures will be the same each time."
            )
            words += ", and no other program was using the GPU. Most likely its memory is defective."
            return words, (again, *away)
        words += ". Most likely causes: a program that NVML does not show here, or defective memory."
        return words, (free, *away)
    words = "Most likely causes: memory clocks below their maximum, or a program that NVML does not show here."
    return words, (free, *locked)
