"""Ctrl-C that Python lost: an import by C code, or the callback of an import's lock, may swallow KeyboardInterrupt.

Whoever is about to wait asks `heard` first, so that an interrupt is late at most, and never without effect. And the
runs whose children end with this process: a signal may come before whoever started a run can stop it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enums of `signal`
import os
import sys
from _thread import get_ident, interrupt_main, start_new_thread
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Run(Protocol):
        """What has children of its own."""

        def abandon(self) -> None:
            """End them, and start no more."""

        def end(self) -> None:
            """End them; nothing else of this process runs any more."""


_MOMENT_S = 0.01
"""After it the main thread is out of what swallowed the interrupt."""
_came: list[int] = []
"""The thread that was interrupted."""
_runs: list[Run] = []


def listen() -> None:
    """Remember each SIGINT, and raise KeyboardInterrupt as Python does; not where it is ignored. At once where one came
    during the first imports and was held back (gpudoctor/__main__.py)."""
    before = _signal.getsignal(_signal.SIGINT)
    held = getattr(before, "came", None)
    if held is None and before is not _signal.default_int_handler:
        return
    _signal.signal(_signal.SIGINT, _interrupt)
    sys.unraisablehook = _again
    if held:
        _interrupt(_signal.SIGINT, None)


def leave() -> None:
    """The work is done: from now on an interrupt ends this process and says nothing."""
    if _signal.getsignal(_signal.SIGINT) is _interrupt:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def heard() -> None:
    """Raise KeyboardInterrupt where one came to this thread and is not over."""
    if _came and _came[0] == get_ident():
        forget()
        raise KeyboardInterrupt


def forget() -> None:
    """It was answered, and work goes on."""
    _came.clear()


def end_with_us(run: Run) -> None:
    """This one has children from now on; it says so before it starts the first."""
    _runs.append(run)


def is_over(run: Run) -> None:
    """It has none any more."""
    if run in _runs:
        _runs.remove(run)


def abandon_all() -> None:
    """This process ends."""
    for run in list(_runs):
        run.abandon()


def end_all() -> None:
    """The same at once, in the handler of a signal: nothing is waited for."""
    for run in list(_runs):
        run.end()


def _interrupt(number: int, frame: object) -> None:
    if _came and frame is not None:  # a second one, before the first was answered: end, and say nothing
        leave()
        os.kill(os.getpid(), _signal.SIGINT)
    _came[:] = [get_ident()]
    raise KeyboardInterrupt


def _again(what: Any) -> None:
    """Called where something swallows what was raised in it, such as the callback of an import's lock: an interrupt is
    raised once more outside of it, and Python says nothing of it."""
    if what.exc_type is KeyboardInterrupt:
        try:
            start_new_thread(_once_more, ())
        except RuntimeError:  # no thread is left: then it comes with the next wait
            return
    else:
        sys.__unraisablehook__(what)


def _once_more() -> None:
    sleep(_MOMENT_S)
    forget()
    interrupt_main()
