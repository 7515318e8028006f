"""At small batch sizes the GPU waits for the CPU to launch its kernels.

What is wrong: a step of many small kernels takes as long as Python and PyTorch need to launch them, however fast the
GPU is. Below a certain batch size, a faster GPU does not help, and the step time does not depend on the batch size.

Symptoms: GPU utilization of 5 to 30 %, one core at 100 %, the same step time for batch sizes 64 and 1024; two very
different GPUs are equally fast.

Why it happens: each launch costs the CPU 5 to 30 microseconds; small layers take less than that on the GPU. A slow core
makes it worse.

How to fix it: use a larger batch, torch.compile or CUDA graphs, a fused optimizer, or several runs in parallel on one
GPU. The finding gives the smallest batch size at which the GPU sets the pace for the small test model; a larger model
gets there with a smaller batch. A different GPU or CUDA version does not help.

This is a note, because every GPU is launch-bound at small batch sizes; it is a warning if the host is slow at
launching. For a watched program it is also a note, based on gaps between its kernels and one thread that used a whole
core. Thresholds: single_core_mops (45), host_us_per_kernel (30), both for Python 3.11 and adjusted for other versions
(see cpu-bound).

Source: a batch sweep of a small model by `gpudoctor prove`; host time, device time and the step as a CUDA graph. Or
`gpudoctor watch`: docs/prove.md explains how it distinguishes launches from a waiting kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Findings, NotExamined, Policy
from ..snapshot import Snapshot, known
from ._measured import measured

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..findings.measured_bounds import Step

CHECK = Check(
    __name__,
    title="Small batches are limited by kernel launches",
    sound="No batch size is limited by kernel launches",
    severity="warning",
    layer="speed",
    tags=("measured", "speed"),
    downstream_of=("cpu-bound", "cpu-quota-too-small"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for each GPU whose sweep has launch-bound batches."""
    measured(s)
    from ..findings.measured_cuda import sentence
    from ..fixes.speed import fewer_launches, larger_batch
    from ._bounds import filling, named, reference, rounded, slow, training

    found, run = training(s)
    watch = s.measured.watch
    if run and run.bound == "launches" and watch:
        yield CHECK.remark(
            f"{watch.program} launches kernels more slowly than the GPU finishes them",
            f"{run.reason[0].upper()}{run.reason[1:]}. {sentence(s, m)}",
            facts={"gpu_busy_percent": known(watch.gpu_busy_percent), "main_cores": known(watch.main_cores)},
            subject=watch.gpu_keys[0] if watch.gpu_keys else "",
            fixes=(larger_batch(None), fewer_launches()),
        )
    elif run and not found and run.bound in ("cpu", "unclear", "unknown"):
        raise NotExamined("watching a program cannot tell kernel launches from other Python work: run gpudoctor prove")
    for sweep in found:
        waiting = [step for step in sweep.steps if step.bound == "launch"]
        if not waiting:
            continue
        key, name = named(s, sweep)
        last, why = waiting[-1], slow(s, p, reference(sweep))
        make = CHECK.warn if why else CHECK.remark
        words = [_time(waiting), filling(sweep), f"The host is slow: {why}." if why else "", _graph(last)]
        words += ["A different GPU would not help at these sizes.", sentence(s, m)]
        yield make(
            f"Kernel launches limit {name} up to batch size {last.point.batch}",
            " ".join(word for word in words if word),
            facts={
                "batch": last.point.batch,
                "crossover_batch": sweep.crossover,
                "gpu_percent": rounded(last.gpu_percent),
                "us_per_kernel": rounded(last.us_per_kernel),
                "launches": known(last.point.launches),
            },
            subject=key,
            fixes=(larger_batch(sweep.crossover or sweep.beyond), fewer_launches()),
        )


def _time(waiting: list[Step]) -> str:
    first, last = waiting[0], waiting[-1]
    share = f"; the GPU is busy for {last.gpu_percent:.0f} % of that time" if last.gpu_percent is not None else ""
    each = f" ({last.us_per_kernel:.0f} us of host time per kernel)" if last.us_per_kernel else ""
    end = f"{last.point.step_ms:.2f} ms at batch size {last.point.batch}{share}{each}."
    if first is last:
        return f"A step of a small model takes {end}"
    return f"A step of a small model takes {first.point.step_ms:.2f} ms at batch size {first.point.batch} and {end}"


def _graph(step: Step) -> str:
    graph = known(step.point.graph_ms)
    if graph is None or graph <= 0 or graph >= 0.9 * step.point.step_ms:
        return ""
    return f"As a CUDA graph, the same step takes {graph:.2f} ms."
