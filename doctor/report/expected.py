"""What the judgement says of the measurements, by device; None or empty if the matrix does not know."""

from __future__ import annotations

from typing import NamedTuple

from ..findings.measured_path import Path, paths
from ..judge.report import Report
from ..snapshot.measured import Rate

LIMITS = {
    "launch": "launches", "cpu": "CPU", "dataloader": "making batches", "copy": "copies", "memory": "GPU memory",
    "compute": "GPU arithmetic",
}  # fmt: skip
"""What bounds a step, in a word or two."""
PACE = {
    "gpu": "The GPU sets the pace", "cpu": "The CPU sets the pace", "dataloader": "Data loading sets the pace",
    "waiting": "GPU kernels are waiting", "launches": "Kernel launches set the pace",
    "copies": "Copies set the pace", "sleep": "The program is idle",
    "unclear": "What sets the pace is unclear", "unknown": "What sets the pace is unknown",
}  # fmt: skip
"""What bound a watched run."""


class Band(NamedTuple):
    """What a rate should be; `peak` is the dense peak or the nameplate, None if it is not listed.

    measured: boards of this model reached that range; else it is a share of the peak that other boards reach.
    """

    low: float
    high: float
    peak: float | None = None
    measured: bool = True

    @property
    def top(self) -> float:
        """The most that a bar can show."""
        return max(self.high, self.peak or 0.0)


def band(report: Report, rate: Rate) -> Band | None:
    """The expected range of a rate. Derived from a peak it ends at the peak."""
    for e in report.measured.expected if report.measured else ():
        if (e.device, e.kind, e.what) == (rate.device, rate.kind, rate.what) and e.unit == rate.unit and e.high > 0:
            high = max(e.high, e.typical)
            measured = e.basis == "measured"
            return Band(e.low, high if measured or not e.peak else min(high, e.peak), e.peak or None, measured)
    return None


def peak_of(report: Report, rate: Rate) -> float | None:
    """The dense peak for a product, the nameplate for memory."""
    found = band(report, rate)
    return found.peak if found else None


def peak_bandwidth(report: Report, device: str) -> float | None:
    """The nameplate bandwidth in GB/s."""
    expected = report.measured.expected if report.measured else ()
    return max((e.peak for e in expected if e.device == device and e.kind == "memory"), default=0.0) or None


def limits(report: Report, device: str) -> dict[int, str]:
    """Batch to what limits it, in a word or two."""
    batches = report.measured.batches if report.measured else ()
    return {b.batch: LIMITS[b.bound] for b in batches if b.device == device}


def crossover(report: Report, device: str) -> int | None:
    """The batch from which on the GPU sets the time."""
    return report.measured.crossover_batch.get(device) if report.measured else None


def path_of(report: Report) -> list[Path]:
    """Each device with its verdict, and the watched program."""
    return paths(report.snapshot)
