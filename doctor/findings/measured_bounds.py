"""What bounds a training step at each batch of the sweep.

A turn of training lasts as long as the slower of two: the host, which draws the batch (load) and hands the kernels over
(issue), and the device, which copies the batch and runs the kernels. While the device waits, a faster one changes
nothing.
"""

from __future__ import annotations

from math import log10
from typing import Literal, NamedTuple, TypeAlias

from ..snapshot import BatchPoint, Measured, known
from .python_speed import host_factor, loop_factor

Bound: TypeAlias = Literal["launch", "cpu", "copy", "memory", "compute", "dataloader"]
DEVICE: tuple[Bound, ...] = ("memory", "compute")
_FILLED = 0.75
"""Share of a step that its kernels fill, from which on the device sets the time."""
_LARGEST_PART = 0.4
"""Least share of a step for copy or load to be called its bound."""
_GROWTH = 1.3
"""Without times of the device: a step that grows by less than this with the batch is the host's."""
USUAL_LAUNCH_US = 5.0
"""Host time of handing over one small kernel by torch on a fast core."""
_LAUNCHING = 0.15
"""Least share of the host's time that bare launches take, for it to be launching; below it Python does other work."""
SINGLE_CORE_MOPS, HOST_US_PER_KERNEL, THROTTLED_PERCENT = 45.0, 30.0, 10.0
"""A server core of 2020 does 80 in the agent's loop; an eager step on it takes 10 to 20 us for each kernel."""
REFERENCE_BATCH = 1024
"""Where the host is judged: large enough to be of use, small enough for most GPUs to wait."""


class Step(NamedTuple):
    """One batch size. gpu_percent: share of the step in which the device had work; None if it is not known."""

    point: BatchPoint
    bound: Bound
    gpu_percent: float | None

    @property
    def samples_per_s(self) -> float:
        return 1000 * self.point.batch / self.point.step_ms if self.point.step_ms else 0.0

    @property
    def us_per_kernel(self) -> float | None:
        """Host time for each kernel."""
        issue, launches = known(self.point.issue_ms), known(self.point.launches)
        return 1000 * issue / launches if issue and launches else None


class Sweep(NamedTuple):
    """The sweep of one device, smallest batch first."""

    device: str
    steps: tuple[Step, ...]

    @property
    def crossover(self) -> int | None:
        """The smallest batch from which on the device sets the time; None if it does not within the sweep."""
        found = None
        for step in reversed(self.steps):
            if step.bound not in DEVICE:
                break
            found = step.point.batch
        return found

    @property
    def beyond(self) -> int | None:
        """Where no batch of the sweep fills the device: the batch that would, drawn on from the last two."""
        pairs = [(s.point.batch, known(s.point.device_ms)) for s in self.steps]
        timed = [(batch, ms) for batch, ms in pairs if ms]
        if self.crossover or len(timed) < 2:
            return None
        (small, before), (large, after) = timed[-2:]
        slope = (after - before) / (large - small) if large > small else 0.0
        step = self.steps[-1].point.step_ms
        return _two_figures(large + (step - after) / slope) if slope > 0 and step > after else None

    def waiting(self) -> tuple[Step, ...]:
        """Those in which the device waits for the host's launches or Python."""
        return tuple(step for step in self.steps if step.bound in ("launch", "cpu"))

    def near(self, batch: int) -> Step:
        """The step whose batch is nearest."""
        return min(self.steps, key=lambda step: abs(step.point.batch - batch))


def _two_figures(value: float) -> int:
    """23142 -> 23000."""
    return int(round(value, 1 - int(log10(value))))


def sweeps(m: Measured) -> list[Sweep]:
    """One for each GPU that was swept."""
    points = [p for p in known(m.batches) or () if p.device.startswith("cuda") and p.step_ms > 0]
    found = []
    for device in dict.fromkeys(p.device for p in points):
        own = sorted((p for p in points if p.device == device), key=lambda p: p.batch)
        launch = rate_of(m, device, "launch", "eager")
        ridge = _ridge(m, device)
        found.append(Sweep(device, tuple(_step(p, own[0], launch, ridge) for p in own)))
    return found


def rate_of(m: Measured, device: str, kind: str, *names: str) -> float | None:
    """The first of these rates that was measured on a device."""
    found = {r.what: r.value for r in known(m.rates) or () if r.kind == kind and r.device == device}
    return next((found[name] for name in names if name in found), None)


def _ridge(m: Measured, device: str) -> float | None:
    """FLOP per byte above which arithmetic, below which memory takes longer, by the measured rates."""
    tera = rate_of(m, device, "matmul", "fp32", "tf32")  # the sweep's model is float32
    giga = rate_of(m, device, "memory", "copy", "triad")
    return 1000 * tera / giga if tera and giga else None


def _step(p: BatchPoint, smallest: BatchPoint, launch_us: float | None, ridge: float | None) -> Step:
    device, issue = known(p.device_ms), known(p.issue_ms)
    copy, load = known(p.copy_ms) or 0.0, known(p.load_ms) or 0.0
    percent = min(100.0, 100 * device / p.step_ms) if device is not None else known(p.utilization_percent)
    bound: Bound
    if not _device_sets(p, smallest, device, issue):
        bound = "launch" if _launching(p, issue, launch_us) else "cpu"
        if load > (issue or 0.0) and load >= _LARGEST_PART * p.step_ms:
            bound = "dataloader"
    elif copy > (device or 0.0) and copy >= _LARGEST_PART * p.step_ms:
        bound = "copy"
    else:
        intensity = p.flops / p.bytes if p.bytes else None
        bound = "memory" if intensity is not None and ridge is not None and intensity < ridge else "compute"
    return Step(p, bound, percent)


def _device_sets(p: BatchPoint, smallest: BatchPoint, device: float | None, issue: float | None) -> bool:
    """Whether copy and kernels, which the device does one after the other, take longer than drawing and launching."""
    if device is None:
        return p.step_ms > _GROWTH * smallest.step_ms
    work = device + (known(p.copy_ms) or 0.0)
    return work >= _FILLED * p.step_ms or (issue is not None and work >= issue + (known(p.load_ms) or 0.0))


def _launching(p: BatchPoint, issue: float | None, launch_us: float | None) -> bool:
    graph, launches = known(p.graph_ms), known(p.launches)
    if graph is not None and graph < _FILLED * p.step_ms:  # the same kernels, handed over at once
        return True
    if not launches:
        return True
    return launches * (launch_us or USUAL_LAUNCH_US) >= 1000 * _LAUNCHING * (issue or p.step_ms)


def slow_host(m: Measured, step: Step, python: str = "", limits: dict[str, float] | None = None) -> str:
    """Why the host counts as slow where the device waits for it: a sentence, or '' where it is as fast as usual.

    limits: thresholds `single_core_mops` and `host_us_per_kernel`, for Python 3.11: other versions are slower at the
    score's loop or at calls, on the same core. A slow score alone says nothing if launches are quick.
    """
    limits = limits or {}
    least, most = limits.get("single_core_mops", SINGLE_CORE_MOPS), limits.get("host_us_per_kernel", HOST_US_PER_KERNEL)
    least, most = least * loop_factor(python), most * host_factor(python)
    score, each = known(m.cpu.single_core) if m.cpu else None, step.us_per_kernel
    if score is not None and score < least and (each is None or each > most / 2):
        return f"one core does {score:.0f} million Python operations per second (usual: {least:.0f} or more)"
    if each is not None and each > most:
        return f"the host needs {each:.0f} us per kernel (usual: {most:.0f} or less)"
    throttled = known(m.cpu.throttled_percent) if m.cpu else None
    if throttled is not None and throttled >= THROTTLED_PERCENT:
        return f"the container's CPU quota throttled it in {throttled:.0f} % of its periods"
    return ""
