"""Whether a silent child still moves: slow is not broken. Part of agents that have children, and of who starts agents.

Read from /proc for the child and all of its session: CPU time, page-ins, bytes read, and whether it is ready to run. A
child that reads at some rate waits for its disk, one that is ready and gets no time waits for a core; both may go on
for as long as there is time. One that stands still hangs. So does one that only computes, unless it imports: a call of
the driver that spins never comes back. Standard library, Python 3.8.
"""

from __future__ import annotations

import os
import time as clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Literal, Optional, Tuple

    Waits = Literal["", "slow", "starved", "computing", "answering"]
    Late = Literal["hang", "slow", "starved"]

TIMES = 8
"""Readings in the time before a deadline, as evenly as may be."""
WINDOW_S = 5.0
"""The longest such time."""
SHORT_S = 0.5
"""How long a child is looked at where nobody did before its time was over."""
_COMPUTES, _STARVES = 0.3, 0.2
"""Shares of a core: from the first on a process computes, up to the second one that is always ready is starved."""
_READY = 0.75
"""Share of the readings in which a starved one is ready to run."""
READS_FROM = 8192.0
"""Bytes a second from which on a child waits for its disk. Network disks at their worst give tens of kB/s: a module of
Python is some 10 kB, and takes a few round trips. One that hangs may read too, but little: a thread that polls
/proc/self/stat ten times a second gets 3 kB/s, one that an eventfd or a line of its child wakes far less."""
PAGE = 4096
"""Bytes that a page-in counts for."""
_MAX_THREADS = 64
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
WORDS = {
    "slow": "it was still reading: the disk is slow",
    "computing": "it was still computing",
    "starved": "not enough processor time",
    "answering": "it was still answering, slowly",
}
"""What is said of a child that was ended for want of time."""
FAULTS: Dict[Waits, Late] = {"": "hang", "slow": "slow", "computing": "slow", "answering": "slow", "starved": "starved"}


class Look:
    """A child and its session at one moment: pid to (CPU seconds, page-ins, bytes read); ready: some thread is ready to
    run or running; blocked: some thread is in uninterruptible sleep."""

    __slots__ = ("blocked", "counts", "ready", "time")

    def __init__(self, time: float, counts: Dict[int, Tuple[float, int, int]], ready: bool, blocked: bool) -> None:
        self.time, self.counts, self.ready, self.blocked = time, counts, ready, blocked


def waited_s(pid: int, proc: str = "/proc") -> float:
    """How long its main thread was ready to run and had no core, or none of its quota left; 0 if unknown.

    Source: Documentation/scheduler/sched-stats of the kernel, /proc/<pid>/schedstat. A wait counts when it is over.
    """
    try:
        with open("%s/%s/schedstat" % (proc, pid), "rb") as stream:
            return int(stream.read(128).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def look(pid: int, now: float, proc: str = "/proc") -> Look:
    """The child and all processes of its session; without counts where those cannot be read (no /proc)."""
    counts: Dict[int, Tuple[float, int, int]] = {}
    ready = blocked = False
    try:
        names = [name for name in os.listdir(proc) if name.isdecimal()]
    except OSError:
        names = []
    for name in names:
        words = _stat("%s/%s/stat" % (proc, name))
        try:
            if int(name) != pid and int(words[3]) != pid:
                continue
            cpu_s = (int(words[11]) + int(words[12])) * _TICK_S
            counts[int(name)] = cpu_s, int(words[9]), _read_bytes("%s/%s/io" % (proc, name))
        except (IndexError, ValueError):
            continue
        for state in _states("%s/%s/task" % (proc, name)):
            ready, blocked = ready or state == b"R", blocked or state == b"D"
    return Look(now, counts, ready, blocked)


def _stat(path: str) -> List[bytes]:
    try:
        with open(path, "rb") as stream:
            return stream.read(1024).rpartition(b") ")[2].split()
    except OSError:
        return []


def _states(folder: str) -> List[bytes]:
    try:
        threads = os.listdir(folder)[:_MAX_THREADS]
    except OSError:
        return []
    found = [_stat("%s/%s/stat" % (folder, thread)) for thread in threads]
    return [words[0] for words in found if words]


def _read_bytes(path: str) -> int:
    """What its calls of read returned, and what came from a disk; 0 where that may not be read."""
    found = {}
    try:
        with open(path, "rb") as stream:
            for line in stream.read(1024).splitlines():
                name, _, number = line.partition(b": ")
                found[name] = int(number)
        return found[b"rchar"] + found[b"read_bytes"]
    except (OSError, ValueError, KeyError):
        return 0


def waits(readings: List[Look], step: Optional[str]) -> Waits:
    """What a silent child does between these readings; '' where it stands still, or spins in a call of the driver.

    step: what it began last; None before its first word.
    """
    if len(readings) < 2:
        return ""
    first, last = readings[0], readings[-1]
    passed = max(last.time - first.time, 1e-3)
    cpu_s, read = 0.0, 0
    for pid, (cpu_now, faults, count) in last.counts.items():
        cpu_before, faults_before, count_before = first.counts.get(pid, (0.0, 0, 0))
        cpu_s += cpu_now - cpu_before
        read += (faults - faults_before) * PAGE + count - count_before
    if read >= READS_FROM * passed:
        return "slow"
    own = step is None or step.startswith("import")
    always_ready = sum(one.ready for one in readings) >= _READY * len(readings)
    if always_ready and cpu_s < _STARVES * passed:
        return "starved"
    if own and all(one.blocked for one in readings):
        return "slow"
    return "computing" if own and (always_ready or cpu_s >= _COMPUTES * passed) else ""  # others may want its core


def moves(pid: int, step: Optional[str]) -> Waits:
    """The same of a child that is looked at now, for SHORT_S seconds."""
    readings = [look(pid, clock.monotonic())]
    for _ in range(TIMES):
        clock.sleep(SHORT_S / TIMES)
        readings.append(look(pid, clock.monotonic()))
    return waits(readings, step)
