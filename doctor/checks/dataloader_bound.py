"""The GPU is waiting for data.

What is wrong: batches arrive more slowly than the GPU processes them. The loader's workers or the disk are at their
limit, or one thread prepares the batches itself.

Symptoms: in the training log, the data time is nearly as long as the whole step; GPU utilization jumps between 0 and
100 %; workers are at 100 % or in disk sleep (D) while the training waits; the number of workers changes the speed.

Why it happens: too few workers or cores, decoding on the processor, a slow or remote disk, many small files; a /dev/shm
that is too small; workers that get in each other's way (locks, threads inside each worker).

How to fix it: use more workers with pinned memory, decode the data once in advance and keep it on a local disk, or put
a small data set on the GPU as one tensor.

Threshold: loader_scaling_percent (40): the workers' combined speed, as a percentage of one worker's speed times the
number of workers. Both are measured under the same Python, so its version makes no difference. Having two hardware
threads per core is enough to reduce it to about 60 %, passing the batches through one main process reduces it further,
and 40 leaves room for both. When measured, the problem is only a warning; in pasted text, figures that show it are a
failure. If only large batches take longer to prepare than their training step takes, the finding is a note.

What was examined: the CPU time of the main process and of its loader workers, how many workers there are, and how long
they were in disk sleep; not which files were read, nor how fast the disk is.

Source: PyTorch documentation, torch.utils.data; processes and GPU use from `gpudoctor watch`; DataLoader throughput by
number of workers from `gpudoctor prove`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Finding, Findings, Policy, Skip
from ..snapshot import Snapshot, known
from ._measured import measured
from ._readings import limit

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..findings.measured_bounds import Sweep
    from ..findings.watched_run import Watched
    from ..snapshot import Measured, Watch

CHECK = Check(
    __name__,
    title="The GPU is waiting for data",
    sound="Data loading was not found to limit the GPU",
    severity="warning",
    layer="speed",
    tags=("measured", "speed", "cpu"),
    downstream_of=("cpu-quota-too-small", "shm-too-small"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """The watched run, by its workers and disk; the loader, by its workers; batches prepared slower than computed."""
    found_by = measured(s)
    if found_by.device == "cpu":
        raise Skip("only the CPU was measured", without="gpu")
    from ._bounds import training

    rates = _loader(found_by)
    try:
        found, run = training(s)
    except Skip:
        if not rates:
            raise
        found, run = [], None
    if run and run.bound == "dataloader" and found_by.watch:
        yield _watched(s, m, found_by.watch, run)
    cores = known(found_by.cpu.cores) if found_by.cpu else None
    yield from _scaling(rates, cores, limit(p, "loader_scaling_percent", 40))
    for sweep in found:
        yield from _drawn(s, sweep, cores)


def _watched(s: Snapshot, m: Matrix, watch: Watch, run: Watched) -> Finding:
    from ..findings.measured_cuda import sentence
    from ..fixes.speed import local_data, more_workers

    cores = known(watch.cores)
    fixes = (local_data(), more_workers(cores)) if run.disk else (more_workers(cores), local_data())
    return CHECK.warn(
        f"{watch.program} is waiting for {'its disk' if run.disk else 'its loader workers'}, not for the GPU",
        f"{run.reason[0].upper()}{run.reason[1:]}. A different GPU would not help. {sentence(s, m)}",
        facts={
            "gpu_busy_percent": known(watch.gpu_busy_percent),
            "workers": known(watch.workers),
            "workers_cores": known(watch.workers_cores),
            "cores": cores,
            "blocked_percent": known(watch.blocked_percent),
            "workers_blocked_percent": known(watch.workers_blocked_percent),
        },
        subject=watch.gpu_keys[0] if watch.gpu_keys else "",
        fixes=fixes,
    )


def _loader(m: Measured) -> dict[int, float]:
    """Number of workers to samples per second."""
    rates = known(m.rates) or ()
    return {int(r.what): r.value for r in rates if r.kind == "loader" and r.what.isdecimal() and r.value > 0}


def _scaling(rates: dict[int, float], cores: float | None, least: float) -> Findings:
    one, most = rates.get(1), max(rates, default=0)
    usable = min(most, int(cores)) if cores else most
    if not one or usable < 2:
        return
    workers, best = max(rates.items(), key=lambda item: item[1])
    percent = 100 * best / (usable * one)
    if percent >= least:
        return
    from ..fixes.speed import here

    words = (
        f"The best worker count ({workers}) reached {best:.0f} samples/s on {usable} cores; one worker alone reached "
        f"{one:.0f}."
    )
    yield CHECK.warn(
        f"{most} loader workers are only {best / one:.1f} times as fast as one",
        f"{words} Most likely causes: other programs on these cores, threads inside each worker "
        "(torch.set_num_threads), a CPU quota, a small /dev/shm.",
        facts={"rates": {str(n): rate for n, rate in rates.items()}, "cores": cores, "percent": round(percent, 1)},
        fixes=(
            here(
                "free-cores",
                "Free up the cores, then measure again",
                "Stop other programs that are using the cores (see top).",
            ),
        ),
    )


def _drawn(s: Snapshot, sweep: Sweep, cores: float | None) -> Findings:
    from ..fixes.speed import more_workers
    from ._bounds import named, reference

    drawn = [step for step in sweep.steps if step.bound == "dataloader"]
    if not drawn:
        return
    key, name = named(s, sweep)
    make = CHECK.warn if reference(sweep) in drawn else CHECK.remark
    batch = drawn[0].point.batch
    yield make(
        f"From batch size {batch} on, one thread prepares batches more slowly than {name} processes them",
        "To hide that time, use loader workers or keep the data on the GPU.",
        facts={"batch": batch, "load_ms": known(drawn[0].point.load_ms), "step_ms": drawn[0].point.step_ms},
        subject=key,
        fixes=(more_workers(cores),),
    )
