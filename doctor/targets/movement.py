"""Whether a silent child still moves: slow is not broken.

Read from /proc for the child and all of its session: CPU time, page-ins, bytes read, and whether it is ready to run. A
child that reads waits for its disk, one that is ready and gets no time waits for a core; both may go on for as long as
there is time. One that stands still hangs. So does one that only computes, unless it imports: a call of the driver that
spins never comes back.
"""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

Waits: TypeAlias = Literal["", "slow", "starved", "computing"]
TIMES = 8
"""In the time before a deadline, as evenly as may be."""
WINDOW_S = 5.0
"""The longest such time."""
_COMPUTES, _STARVES = 0.3, 0.2
"""Shares of a core: from the first on a process computes, up to the second one that is always ready is starved."""
_READY = 0.75
"""Share of the readings in which a starved one is ready to run."""
_MAX_THREADS = 64
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
WORDS = {
    "slow": "it was still reading: the disk is slow",
    "computing": "it was still computing",
    "starved": "no processor core was free for it",
}
"""What is said of a child that was ended for want of time."""


class Look:
    """A child and its session at one moment: pid to (CPU seconds, page-ins, bytes read); ready: some thread is ready to
    run or running; blocked: some thread is in uninterruptible sleep."""

    __slots__ = ("blocked", "counts", "ready", "time")

    def __init__(self, time: float, counts: dict[int, tuple[float, int, int]], ready: bool, blocked: bool) -> None:
        self.time, self.counts, self.ready, self.blocked = time, counts, ready, blocked


def look(pid: int, now: float, proc: str = "/proc") -> Look:
    """The child and all processes of its session; without counts where those cannot be read (no /proc)."""
    counts: dict[int, tuple[float, int, int]] = {}
    ready = blocked = False
    try:
        names = [name for name in os.listdir(proc) if name.isdecimal()]  # noqa: PTH208
    except OSError:
        names = []
    for name in names:
        words = _stat(f"{proc}/{name}/stat")
        try:
            if int(name) != pid and int(words[3]) != pid:
                continue
            cpu_s = (int(words[11]) + int(words[12])) * _TICK_S
            counts[int(name)] = cpu_s, int(words[9]), _read_bytes(f"{proc}/{name}/io")
        except (IndexError, ValueError):
            continue
        for state in _states(f"{proc}/{name}/task"):
            ready, blocked = ready or state == b"R", blocked or state == b"D"
    return Look(now, counts, ready, blocked)


def _stat(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as stream:
            return stream.read(1024).rpartition(b") ")[2].split()
    except OSError:
        return []


def _states(folder: str) -> list[bytes]:
    try:
        threads = os.listdir(folder)[:_MAX_THREADS]  # noqa: PTH208
    except OSError:
        return []
    return [words[0] for thread in threads if (words := _stat(f"{folder}/{thread}/stat"))]


def _read_bytes(path: str) -> int:
    """What its calls of read returned, and what came from a disk; 0 where that may not be read."""
    try:
        with open(path, "rb") as stream:
            lines = dict(line.split(b": ") for line in stream.read(1024).splitlines())
        return int(lines[b"rchar"]) + int(lines[b"read_bytes"])
    except (OSError, ValueError, KeyError):
        return 0


def waits(readings: list[Look], step: str | None) -> Waits:
    """What a silent child does between these readings; '' where it stands still, or spins in a call of the driver.

    step: what it began last; None before its first word.
    """
    if len(readings) < 2:
        return ""
    first, last = readings[0], readings[-1]
    passed = max(last.time - first.time, 1e-3)
    before = (0.0, 0, 0)
    moved = [
        tuple(now - then for now, then in zip(count, first.counts.get(pid, before), strict=True))
        for pid, count in last.counts.items()
    ]
    cpu_s = sum(one[0] for one in moved)
    if any(one[1] > 0 or one[2] > 0 for one in moved):
        return "slow"
    own = step is None or step.startswith("import")
    if sum(one.ready for one in readings) >= _READY * len(readings) and cpu_s < _STARVES * passed:
        return "starved"
    if own and all(one.blocked for one in readings):
        return "slow"
    return "computing" if own and cpu_s >= _COMPUTES * passed else ""
