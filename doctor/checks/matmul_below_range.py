"""Matrix multiplication is slower than it should be on this GPU.

What is wrong: at sizes that fill the chip, the measured rate is more than 10 % below the lowest rate that others have
measured on this model (the margin grows to at most 20 % if their own rates differ by that much). If no measurements of
this model are listed, the rate is below the share of the dense peak that the slowest listed board of its kind reaches
(GeForce boards are compared separately from data-center and workstation boards). A rate below 60 % of a measured
reference is a failure, provided that no other program is using the GPU.

Symptoms: training is slower than on other GPUs of this model, at every batch size.

Why it happens (the finding lists the most likely cause first, based on what NVML showed during the measurement): heat,
a power limit, other programs on the GPU, clocks that were locked at a low value; if none of these applies, a PyTorch
build without kernels for this GPU.

How to fix it: fix the cause if the report names it above this finding; otherwise reset locked clocks (nvidia-smi -rgc),
and use a newer PyTorch build.

For GPUs that the matrix does not list, the result is UNKNOWN, and the figures are shown. A low rate is only a note if
NVML's samples show that the board drew at least 90 % of its default power limit and that its clock was reduced as much
as the rate was; a rate below 66 % of the usual rate is reported as a problem even then. If NVML shows neither power nor
a reason, a rate up to 12 % below the range is only a note too.

What was examined: the rate of each data type, and NVML's samples from that phase (power, limit, clocks, event reasons,
other programs; at least five). gpudoctor did not examine which cuBLAS kernels ran.

Source: the matrix's measured rates and dense peaks; `gpudoctor prove --quick`.
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
    title="Matrix multiplication is slower than it should be on this GPU",
    sound="Matrix multiplication is not below the expected range",
    severity="error",
    layer="speed",
    tags=("measured", "gpu", "speed"),
    downstream_of=(
        "clock-held-low",
        "thermally-throttled",
        "power-capped",
        "gpu-too-hot",
        "gpu-power-or-thermal-limited",
        "ptx-jit-first-launch",
        "gpu-slower-than-siblings",
    ),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for each GPU with a matrix product below its range."""
    from ._measured import measured

    measured(s)
    from ._measured_low import low_rates

    yield from low_rates(CHECK, s, m, p, "matmul", "speed for matrix multiplication", lambda low: _explain(s, low))


def _explain(s: Snapshot, low: list[Ranged]) -> tuple[str, tuple[Fix, ...]]:
    from ..findings.measured_rates import share
    from ..fixes.speed import clocks_reset, here, measured_again

    gpu, load = low[0].gpu, low[0].load
    again = here(
        "newer-torch",
        "Measure with the newest torch build for this GPU",
        "Run gpudoctor check to see which build that is.",
    )
    clock, most = (known(load.clock_sm_mhz), known(load.clock_sm_max_mhz)) if load else (None, None)
    words = ""
    if load and share(load, "sw-thermal", "hw-thermal") > 0:
        words = "Heat slowed the GPU down during the measurement."
    elif load and share(load, "power-brake", "hw-slowdown") > 0:
        words = "Its hardware protection slowed the GPU down during the measurement (power supply, power brake)."
    elif clock and most and clock < 0.6 * most:
        words = f"The SM clock was {clock:.0f} MHz (maximum: {most} MHz): suspect power, heat or locked clocks."
    elif len(low) == 1 and low[0].rate.what not in ("fp32",):
        words = (
            "Only this data type is slow, most likely because torch or cuBLAS is too old to have kernels for this GPU."
        )
        return words, (again,)
    elif load is None:
        words = "NVML did not report the GPU's clocks during the measurement."
    elif clock and most and clock >= 0.9 * most:
        words = (
            f"The SM clock was {clock:.0f} MHz (maximum: {most} MHz), and neither heat nor power slowed the GPU down. "
        )
        if known(load.others) == 0:
            words += "Most likely this torch build has slow kernels for this GPU. No other program was using the GPU."
            return words, (again,)
        words += (
            "Most likely causes: a program that NVML does not show here, or a torch build with slow kernels for this "
            "GPU."
        )
        free = here(
            "prove-again",
            "Measure on a free GPU",
            "First stop the other programs on it, including those in other containers.",
        )
        return words, (free, again)
    else:
        words = "Neither heat nor power slowed the GPU down: suspect locked clocks or an old torch version."
    fixes = (clocks_reset(s, gpu.key),) if gpu else ()
    return words, (*measured_again(fixes), again)
