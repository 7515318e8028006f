"""The GPU is waiting for a processor core.

What is wrong: one core runs Python, prepares batches and launches kernels. It is fully loaded while the GPU has little
to do. No driver, CUDA version or faster GPU can change that.

Symptoms: low GPU utilization (5 to 40 %) while one core is at 100 %; as a percentage of all cores that can look like 3
% or 33 %. The same program is faster on a machine with a slower GPU and a faster core.

Why it happens: a training loop is one thread. Server cores are slower than desktop cores; in containers, a CPU quota or
neighbors slow the loop down further. Typical causes in the program are per-sample work in Python, .item() and print
calls in the loop, and small kernels.

How to fix it: use a larger batch, torch.compile or CUDA graphs; move work into loader workers or onto the GPU; or use a
machine with faster cores. Several runs at once on one GPU use its idle time.

Thresholds: single_core_mops (45), host_us_per_kernel (30), both for Python 3.11. On the same core, the loop that is
measured for the first threshold is slower under other Python versions (0.68 times the speed of 3.11 in 3.9, 0.72 in
3.8, 0.75 in 3.10, 0.79 in 3.12, 0.81 in 3.13), and a kernel's host time is up to 1.4 times as long, so the thresholds
depend on the version. Margins: builds of the same version differ by 20 %; a server core from 2020 does 80 million
operations per second and needs 10 to 20 us per kernel. This check warns; it never fails.

What was examined, in `gpudoctor watch`: each process and its threads, time without a core, GPU utilization with power,
SM activity (GPM) and memory, and how full the PCIe link was. If the link is nearly full, the link is reported and not
the processor, because the main thread then spins in a synchronize call, which is CUDA's default. The check does not
examine which line of the program is slow.

Source: single-core score and batch sweep from `gpudoctor prove`; threads and GPU use from `gpudoctor watch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Findings, Policy
from ..snapshot import Snapshot, known
from ._measured import measured

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..snapshot import Measured

CHECK = Check(
    __name__,
    title="The GPU is waiting for the processor",
    sound="The processor was not found to limit the GPU",
    severity="warning",
    layer="speed",
    tags=("measured", "speed", "cpu"),
    downstream_of=("cpu-quota-too-small",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """The watched run, judged by its threads; each sweep whose host is slow while the GPU waits for it."""
    found_by = measured(s)
    from ..findings.measured_cuda import sentence
    from ..fixes.speed import faster_core, fewer_launches, larger_batch, more_workers
    from ._bounds import filling, named, reference, rounded, slow, training

    found, run = training(s)
    watch = found_by.watch
    blocking = ("environment-variable-breaks-cuda",) if known(s.host.env("CUDA_LAUNCH_BLOCKING")) == "1" else ()
    if run and run.bound == "cpu" and watch:
        cores = known(watch.cores)
        main = known(watch.main_cores) or 1.0
        share = (
            f" One core is {100 / cores:.0f} % of the {cores:g} cores, and one thread cannot use more." if cores else ""
        )
        words = [f"{run.reason[0].upper()}{run.reason[1:]}.{share if main < 1.5 else ''}",
                 "From outside, Python work and small kernel launches look alike; gpudoctor prove tells them apart.",
                 _core(found_by), "A different GPU would not help.", sentence(s, m)]  # fmt: skip
        yield CHECK.warn(
            f"{watch.program} is limited by {'one processor core' if main < 1.5 else 'its cores'}, not by the GPU",
            " ".join(word for word in words if word),
            facts={
                "gpu_busy_percent": known(watch.gpu_busy_percent),
                "main_cores": known(watch.main_cores),
                "cores": cores,
                "cpu_cores": known(watch.cpu_cores),
            },
            subject=watch.gpu_keys[0] if watch.gpu_keys else "",
            downstream_of=(*CHECK.downstream_of, *blocking),
            fixes=(larger_batch(None), fewer_launches(), more_workers(cores), faster_core(s)),
        )
    for sweep in found:
        step = reference(sweep)
        why = slow(s, p, step)
        if not why:
            continue
        key, name = named(s, sweep)
        share = f" and is busy {step.gpu_percent:.0f} % of the time" if step.gpu_percent is not None else ""
        words = [f"With a small model at batch size {step.point.batch}, the GPU waits for the host{share}: {why}.",
                 filling(sweep), _core(found_by), "A different GPU would not help there.", sentence(s, m)]  # fmt: skip
        cpu = found_by.cpu
        yield CHECK.warn(
            f"{name} is waiting for a slow processor core",
            " ".join(word for word in words if word),
            facts={
                "single_core": known(cpu.single_core) if cpu else None,
                "us_per_kernel": rounded(step.us_per_kernel),
                "batch": step.point.batch,
                "gpu_percent": rounded(step.gpu_percent),
                "crossover_batch": sweep.crossover,
            },
            subject=key,
            downstream_of=(*CHECK.downstream_of, *blocking),
            fixes=(larger_batch(sweep.crossover or sweep.beyond), fewer_launches(), faster_core(s)),
        )


def _core(m: Measured) -> str:
    """What else was measured on the processor."""
    cpu = m.cpu
    if cpu is None:
        return ""
    words = []
    throttled, alone, together = known(cpu.throttled_percent), known(cpu.single_core), known(cpu.under_load)
    now, most = known(cpu.mhz), known(cpu.mhz_max)
    if throttled is not None and throttled >= 10:
        words.append(f"the CPU quota throttled the container in {throttled:.0f} % of the periods")
    if alone and together and together < 0.5 * alone:
        words.append(f"with all cores busy, each runs at {100 * together / alone:.0f} % of its speed")
    if now and most and now < 0.6 * most:
        words.append(f"it ran at {now:.0f} of {most:.0f} MHz")
    model = f"{cpu.model}: " if cpu.model else "The processor: "
    return f"{model}{', '.join(words)}." if words else ""
