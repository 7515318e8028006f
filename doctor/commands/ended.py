"""Signals that terminate this process, its children first."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from ..targets.interrupts import abandon_all


class Ended(BaseException):
    """A signal that terminates this process."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def held() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP until this is done, so that nothing is left half-written. Main thread only."""
    came: list[int] = []
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {
        number: signal.signal(number, lambda one, frame: came.append(one))
        for number in numbers
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def ending_children() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind this process so that child processes are stopped first; then the signal ends it."""

    def unwind(number: int, frame: object) -> None:
        raise Ended(number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, unwind) for number in numbers if signal.getsignal(number) == signal.SIG_DFL}
    try:
        yield
    except Ended as ended:
        abandon_all()
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
