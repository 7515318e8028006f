"""The sweep and the watched run, for the checks that decide what limits a training run."""

from __future__ import annotations

from ..findings import NotExamined, Policy
from ..findings.measured_bounds import (
    REFERENCE_BATCH,
    Step,
    Sweep,
    slow_host,
    sweeps,
)
from ..findings.measured_gpu import gpu_of
from ..findings.watched_run import Watched, watched
from ..snapshot import Missing, NeedsFact, Snapshot, known
from ._measured import measured
from ._readings import limit


def training(s: Snapshot) -> tuple[list[Sweep], Watched | None]:
    """Sweeps of GPUs, and what limited the watched run; skipped if there is neither."""
    m = measured(s)
    found, run = sweeps(m), watched(m, m.watch) if m.watch and known(m.watch.uses_gpu) else None
    if found or run:
        return found, run
    if isinstance(m.batches, Missing) and m.batches.reason not in ("not-asked", "absent"):
        raise NeedsFact("measured.batches", m.batches)
    raise NotExamined("no training on a GPU was measured; run gpudoctor prove or gpudoctor watch")


def named(s: Snapshot, sweep: Sweep) -> tuple[str, str]:
    """Key and name of a sweep's GPU; the name includes torch's number if there are several."""
    gpu = gpu_of(s, sweep.device)
    name = known(gpu.name) if gpu else None
    several = len(known(s.gpus) or ()) > 1
    return gpu.key if gpu else sweep.device, f"{sweep.device} ({name})" if name and several else name or sweep.device


def slow(s: Snapshot, p: Policy, step: Step) -> str:
    """Why the host is slow for this GPU, at a batch where the GPU waits for it; otherwise ''."""
    limits = {
        "single_core_mops": limit(p, "single_core_mops", 45),
        "host_us_per_kernel": limit(p, "host_us_per_kernel", 30),
    }
    python = known(s.python.patient.version) if s.python.patient else None
    return slow_host(s.measured, step, python or "", limits) if step.bound in ("launch", "cpu") else ""


def reference(sweep: Sweep) -> Step:
    """The step at which the host is judged."""
    return sweep.near(REFERENCE_BATCH)


def filling(sweep: Sweep) -> str:
    """A sentence on the batch from which on the GPU is the limit."""
    if sweep.crossover:
        return f"From batch size {sweep.crossover} on, the GPU sets the pace."
    largest = sweep.steps[-1].point.batch
    drawn = f"; by extrapolation, about {sweep.beyond} would" if sweep.beyond and sweep.beyond < 100 * largest else ""
    return f"No batch size up to {largest} fills the GPU{drawn}."


def rounded(value: float | None) -> float | None:
    """Rounded to one decimal place, for facts."""
    return None if value is None else round(value, 1)
