"""What measurements say together: is the GPU used, is CUDA the cause, what bounds a training, what would help."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Matrix
from ..findings.measured_bounds import REFERENCE_BATCH, Sweep, sweeps
from ..findings.measured_cuda import compatibility
from ..findings.measured_gpu import gpu_of
from ..findings.measured_path import overall, paths
from ..findings.measured_rates import Ranged, number, ranged
from ..findings.watched_run import Watched, watched
from ..snapshot import Snapshot, known
from .report import BatchVerdict, Expected, MeasuredVerdict

_KINDS = ("matmul", "memory", "copy")
_TOGETHER = 1.4
"""Gain of several copies at once that is worth telling."""
_MODEL = "the small model measured here"
_GRAPH = 1.3
"""Gain of a CUDA graph that is worth telling."""


def verdict(snapshot: Snapshot, matrix: Matrix, report_findings: tuple[Finding, ...] = ()) -> MeasuredVerdict:
    """The measurements of a Snapshot in stable words, along with sentences. Pure; needs a known level.

    `report_findings`: what the checks found, so that the advice says the same as they do.
    """
    m = snapshot.measured
    path = overall(paths(snapshot))
    cuda = compatibility(snapshot, matrix)
    found = [r for kind in _KINDS for r in ranged(snapshot, matrix, kind)]
    swept = sweeps(m)
    run = watched(m, m.watch) if m.watch else None
    computes = path.word in ("gpu-path-used", "unknown")  # of a sick GPU there is nothing to say about speed
    return MeasuredVerdict(
        gpu_path=path.word,
        gpu_path_reason=path.reason,
        cuda_compatibility=cuda.word,
        cuda_compatibility_reason=cuda.reason,
        batches=tuple(
            BatchVerdict(device=sweep.device, batch=s.point.batch, bound=s.bound, gpu_percent=s.gpu_percent)
            for sweep in swept
            for s in sweep.steps
        ),
        crossover_batch={sweep.device: sweep.crossover for sweep in swept if sweep.crossover},
        watch_bound=run.bound if run else None,
        watch_reason=run.reason if run else "",
        expected=tuple(_expected(r) for r in found if r.band.basis != "unknown"),
        advice=tuple(
            _advice(snapshot, matrix, swept if computes else [], run, {finding.id for finding in report_findings})
        ),
    )


def _expected(r: Ranged) -> Expected:
    return Expected(
        device=r.rate.device,
        kind=r.rate.kind,
        what=r.rate.what,
        low=round(r.band.low, 2),
        typical=round(r.band.typical, 2),
        high=round(r.band.high, 2),
        peak=round(r.band.peak, 2),
        unit=r.band.unit,
        basis=r.band.basis,
        reason=r.band.reason,
    )


def _advice(s: Snapshot, m: Matrix, swept: list[Sweep], run: Watched | None, ids: set[str]) -> Iterator[str]:
    if run:
        yield from _of_run(run)
    for sweep in swept:
        yield from _of_sweep(s, sweep)
    if "cpu-bound" in ids and any(sweep.waiting() for sweep in swept):
        yield "A faster CPU core would help at every batch size where the GPU waits for launches."
    if swept:
        yield from _together(s, m)


def _of_run(run: Watched) -> Iterator[str]:
    if run.bound == "gpu":
        yield (
            "The GPU is busy nearly all the time: a faster CPU core or more loader workers will not help; larger "
            "kernels (a larger batch, mixed precision, torch.compile), less work or a faster GPU will."
        )
    elif run.bound == "waiting":
        ranks = (
            "In a distributed job, a rank that waits in NCCL for a slower one looks like this. Watch the other ranks "
            "too: the one that is not waiting is holding up all the others (because of its data, core or GPU). "
        )
        yield (
            f"A waiting kernel counts as busy. {ranks if run.ranks else ''}In a job with only one GPU, its kernels use "
            f"few of the SMs: a larger batch, torch.compile or fewer, larger kernels would help; a faster GPU would "
            f"not."
        )
    elif run.bound == "launches":
        yield (
            "One thread launches kernels more slowly than the GPU finishes them: CUDA graphs, torch.compile, a "
            "larger batch or fewer, larger operations would help, and so would a faster core; a faster GPU would not. "
            "If that thread also prepares data (py-spy top --pid PID shows it), move that work into loader workers."
        )
    elif run.bound == "copies":
        yield (
            "Copies are the bottleneck: fewer or smaller ones (data kept on the GPU, smaller types, less offloading) "
            "or a wider link would help; a faster core or a GPU with more SMs would not. If the main thread fills one "
            "core, it is only waiting for the copies: CUDA spins while it waits by default."
        )
        if run.slow_copies:
            yield (
                "These copies use less than two thirds of what this link can carry from pinned memory: use "
                "pin_memory=True (or Tensor.pin_memory()) with non_blocking=True, and fewer, larger copies."
            )
    elif run.bound == "cpu" and run.alone:
        yield "The program computes on the CPU: a GPU helps only once the program uses it."
    elif run.bound == "cpu":
        yield (
            "One CPU core is the bottleneck: a larger batch, torch.compile or CUDA graphs, work moved into loader "
            "workers, or a faster core would help; a faster GPU would not."
        )
    elif run.bound == "dataloader":
        what = "a faster disk for the data" if run.disk else "more loader workers or less work per sample"
        yield f"Data arrives too slowly: {what} would help; a faster GPU would not."
    elif run.bound == "unclear" and run.turns:
        yield (
            "The GPU and the host take turns: make them overlap (loader workers, pinned memory and non_blocking "
            "copies, no .item() or print in the loop), or give the GPU a larger batch."
        )
    elif run.bound in ("unclear", "sleep") and run.pauses:
        yield (
            "Neither the GPU nor the CPU was at its limit: the program waited for something else, such as a network, a "
            "remote disk, other ranks, a lock or a sleep. py-spy dump --pid PID shows where its threads are."
        )


def _shared(s: Snapshot, device: str) -> bool:
    """Whether another program was on the GPU while it was measured."""
    gpu = gpu_of(s, device)
    at_work = any(proof.busy for proof in known(s.measured.torch) or () if proof.device == device)
    loads = [load for load in known(s.measured.loads) or () if gpu is None or load.key == gpu.key]
    return at_work or any(known(load.others) for load in loads)


def _of_sweep(s: Snapshot, sweep: Sweep) -> Iterator[str]:
    gpu = gpu_of(s, sweep.device)
    name = sweep.device if len(known(s.gpus) or ()) > 1 else (known(gpu.name) if gpu else None) or sweep.device
    waiting = sweep.waiting()
    if not waiting:
        if sweep.crossover == sweep.steps[0].point.batch and not _shared(s, sweep.device):
            yield f"{name} is the limit at every batch size of {_MODEL}: a faster GPU would help."
        return
    last = waiting[-1].point.batch
    share = waiting[-1].gpu_percent
    idle = f" (the GPU is busy {share:.0f} % of the time at that size)" if share is not None else ""
    if sweep.crossover:
        yield (
            f"Use a larger batch if you can: with {_MODEL}, {name} waits for the host up to batch size "
            f"{last:,}{idle}, where a faster GPU would not help, and is the limit from batch size "
            f"{sweep.crossover:,} on. gpudoctor watch shows which side your own training is on."
        )
    else:
        beyond = f" (about {sweep.beyond:,} would)" if sweep.beyond else ""
        yield (
            f"No batch size of {_MODEL} up to {sweep.steps[-1].point.batch:,} fills {name}{beyond}: "
            "it waits for the host, and a faster GPU would not help there."
        )
    step = min(waiting, key=lambda step: abs(step.point.batch - REFERENCE_BATCH)).point
    graph = known(step.graph_ms)
    if graph and step.step_ms >= _GRAPH * graph:
        gain = number(step.step_ms / graph)
        yield (
            f"CUDA graphs (torch.compile with mode reduce-overhead) make a step at batch size {step.batch:,} {gain} "
            f"times as fast."
        )


def _together(s: Snapshot, m: Matrix) -> Iterator[str]:
    rates = [r for r in known(s.measured.rates) or () if r.kind == "copies" and r.device.startswith("cuda")]
    for device in dict.fromkeys(r.device for r in rates):
        counts = {int(r.what): r.value for r in rates if r.device == device and r.what.isdecimal()}
        if not counts.get(1) or len(counts) < 2:
            continue
        best = max(counts, key=lambda count: counts[count])
        gain = counts[best] / counts[1]
        if gain < _TOGETHER:
            continue
        # The fewest copies that give nearly all of it.
        enough = min(count for count, value in counts.items() if value >= 0.95 * counts[best])
        gpu = gpu_of(s, device)
        rows = m.gpu(known(gpu.name), known(gpu.pci_device_id), None, None).rows if gpu else ()
        mig = " (MIG keeps them apart)" if any(row.mig for row in rows) else " (MPS lets them share it better)"
        yield f"{enough} training runs in parallel on {device} do {number(gain)} times the work of one{mig}."
