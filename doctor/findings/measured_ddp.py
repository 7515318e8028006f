"""What the links mean for a training by DDP: seconds with and without them, and what they explain."""

from __future__ import annotations

from ..snapshot import DdpRun, Measured, known


def ddp_runs(m: Measured) -> list[DdpRun]:
    """Those with times that can be, as it is first."""
    found = [run for run in known(m.ddp) or () if run.seconds > 0 and run.alone_seconds > 0 and run.steps > 0]
    return sorted(found, key=lambda run: run.variant)


def less_percent(seconds: float, other: float) -> float:
    """By how much less time than the other one takes, in percent: 101 s against 131 s are 23 % less."""
    return 100 * (1 - seconds / other)


def links_percent(run: DdpRun) -> float:
    """What of the time goes by waiting for sums of gradients: what `no_sync` saves, in percent."""
    return max(0.0, less_percent(run.alone_seconds, run.seconds))


def sent_mib(run: DdpRun) -> float:
    """MiB that a rank sends in a step by a ring: 2(n-1)/n of the gradients, 4 bytes a parameter."""
    return 4 * run.parameters * 2 * (run.ranks - 1) / max(1, run.ranks) / (1 << 20)
