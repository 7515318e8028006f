"""The total time limit of a healthcheck, from process start: startup and judging have no deadlines of their own."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enums of `signal`
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..guard import last_answer
from ..patient.movement import waited_s
from ..targets.interrupts import end_all

DEFAULT_S, PROVE_S = 10.0, 60.0
LEAST_S = 0.05
_LEAVING_S, _LEAVING = 0.6, 0.1
"""Reserved for the last line and process exit if a hundred others need the cores; with less time, a share of it."""
_AGAIN_S = 0.1
"""Python runs a handler between two of its own steps: an alarm right before a blocking read is lost, and the next one
interrupts that read."""


@contextmanager
def in_time(timeout_s: float | None, prove: bool, arguments: Sequence[str]) -> Iterator[None]:
    """Print UNKNOWN and exit when the time is up (POSIX), whatever is going on.

    It raises nothing: an import's lock or C code may swallow what a signal raises. It imports nothing: it may run in
    the middle of another import.
    """
    total_s = timeout_s or (PROVE_S if prove else DEFAULT_S)
    leaving_s = min(_LEAVING_S, _LEAVING * total_s)
    if not hasattr(_signal, "setitimer"):
        yield
        return

    answer = last_answer(arguments)

    def late(number: int, frame: object) -> None:
        code = 1
        try:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            why = "not enough processor time" if starved() else "--timeout"
            code = answer(f"no answer within {total_s:g} s ({why})")
            end_all()
        finally:
            os._exit(code)

    _signal.signal(_signal.SIGALRM, late)
    _signal.setitimer(_signal.ITIMER_REAL, max(LEAST_S, total_s - leaving_s - age_s()), _AGAIN_S)
    try:
        yield
    finally:
        answered()


def starved() -> bool:
    """Whether this process had no core for half of its lifetime."""
    return waited_s(os.getpid()) >= age_s() / 2


def answered() -> None:
    """The answer is ready: running out of time may no longer add another one."""
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, 0)


def age_s() -> float:
    """How long this process has run, according to the kernel; 0 if unknown."""
    try:
        with open("/proc/self/stat", "rb") as stream:
            ticks = int(stream.read(4096).rpartition(b")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
