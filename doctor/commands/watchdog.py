"""The time for all of a healthcheck, from the start of the process: the start and the judging have no deadlines."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enums of `signal`
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..guard import Late

DEFAULT_S, PROVE_S = 10.0, 60.0
LEAST_S = 0.05
AGAIN_S = 0.1


@contextmanager
def in_time(timeout_s: float | None, prove: bool) -> Iterator[None]:
    """Raise `Late` in the main thread when the time is over (POSIX): the healthcheck then says UNKNOWN.

    The children end with this process.
    """
    total_s = timeout_s or (PROVE_S if prove else DEFAULT_S)
    if not hasattr(_signal, "setitimer"):
        yield
        return

    def late(number: int, frame: object) -> None:
        if not isinstance(sys.exc_info()[1], Late):  # not yet on its way, or swallowed, see targets/interrupts.py
            raise Late(f"no answer within {total_s:g} s (--timeout)")

    _signal.signal(_signal.SIGALRM, late)
    _signal.setitimer(_signal.ITIMER_REAL, max(LEAST_S, total_s - _age_s()), AGAIN_S)
    try:
        yield
    finally:
        answered()


def answered() -> None:
    """The answer is there: the end of the time may no longer put another one beside it."""
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, 0)


def _age_s() -> float:
    """How long this process has run, by the kernel; 0 where it does not say."""
    try:
        with open("/proc/self/stat", "rb") as stream:
            ticks = int(stream.read(4096).rpartition(b")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
