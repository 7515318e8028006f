"""The time for all of a healthcheck, from the start of the process: the start and the judging have no deadlines."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enums of `signal`
import os
import time

from ..guard import Late

DEFAULT_S, PROVE_S = 10.0, 60.0
LEAST_S = 0.05


def watch_the_time(timeout_s: float | None, prove: bool) -> None:
    """Raise `Late` in the main thread when the time is over (POSIX): the healthcheck then says UNKNOWN.

    The children end with this process.
    """
    total_s = timeout_s or (PROVE_S if prove else DEFAULT_S)
    if not hasattr(_signal, "setitimer"):
        return

    def late(number: int, frame: object) -> None:
        why = "not enough processor time" if starved() else "--timeout"
        raise Late(f"no answer within {total_s:g} s ({why})")

    _signal.signal(_signal.SIGALRM, late)
    _signal.setitimer(_signal.ITIMER_REAL, max(LEAST_S, total_s - age_s()))


def starved() -> bool:
    """Whether this process had no core for half of its life."""
    from ..patient.movement import waited_s

    return waited_s(os.getpid()) >= age_s() / 2


def answered() -> None:
    """The answer is there: the end of the time may no longer put another one beside it."""
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, 0)


def age_s() -> float:
    """How long this process has run, by the kernel; 0 where it does not say."""
    try:
        with open("/proc/self/stat", "rb") as stream:
            ticks = int(stream.read(4096).rpartition(b")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
