"""One live line on stderr while facts are gathered; nothing at all where stderr is no terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from threading import Event, Thread
from time import monotonic
from types import TracebackType

TICK_S = 0.5


def _columns() -> int:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return max(20, os.get_terminal_size(sys.stderr.fileno()).columns or 80)
    return 80


class Progress:
    """`with Progress() as say: say("files")`: what is being done and for how long."""

    def __init__(self) -> None:
        self._words = ""
        self._start = monotonic()
        self._stop = Event()
        self._thread: Thread | None = None

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            self._thread = Thread(target=self._tick, daemon=True)
            self._thread.start()
        return self

    def __call__(self, words: str) -> None:
        """Say what is being done now."""
        self._words = "".join(c if c.isprintable() else "?" for c in words[:100])  # some are a child's
        if self._thread is not None:
            self._draw()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._write("\r\x1b[K")

    def _tick(self) -> None:
        while not self._stop.wait(TICK_S):
            self._draw()

    def _draw(self) -> None:
        seconds = int(monotonic() - self._start)
        since = f" ({seconds} s)" if seconds else ""
        line = f"gpudoctor: looking at {self._words}{since}"
        self._write(f"\r\x1b[K{line[: _columns() - 1]}")  # a line that wraps cannot be taken back

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
