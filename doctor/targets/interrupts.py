"""Ctrl-C that Python lost: an import by C code, or the callback of an import's lock, may swallow KeyboardInterrupt.

Whoever is about to wait asks `heard` first, so that an interrupt is late at most, and never without effect.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enums of `signal`
from _thread import get_ident

_came: list[int] = []
"""The thread that was interrupted."""


def listen() -> None:
    """Remember each SIGINT, and raise KeyboardInterrupt as Python does; not where it is ignored."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _interrupt)


def heard() -> None:
    """Raise KeyboardInterrupt where one came to this thread and is not over."""
    if _came and _came[0] == get_ident():
        forget()
        raise KeyboardInterrupt


def forget() -> None:
    """It was answered, and work goes on."""
    _came.clear()


def _interrupt(number: int, frame: object) -> None:
    _came[:] = [get_ident()]
    raise KeyboardInterrupt
