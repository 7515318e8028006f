"""One live line on stderr while facts are gathered; nothing at all if stderr is not a terminal."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from threading import Event, Thread
from time import monotonic
from types import TracebackType

TICK_S = 0.5
BAR_COLUMNS = 24


def _columns() -> int:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return max(20, os.get_terminal_size(sys.stderr.fileno()).columns or 80)
    return 80


def _with_bar(words: str) -> str:
    """A bar behind `soak 12 of 600 s`, `layers, 120 of 980 MiB`."""
    found = re.search(r"\b(\d{1,8}) of (\d{1,8}) (?:s|MiB)\b", words)
    if found is None or not int(found[2]):
        return words
    from io import StringIO

    from rich.console import Console
    from rich.progress_bar import ProgressBar

    text = StringIO()
    console = Console(file=text, width=BAR_COLUMNS, color_system=None, legacy_windows=False)
    console.print(ProgressBar(total=int(found[2]), completed=int(found[1]), width=BAR_COLUMNS), end="")
    return f"{words} [{text.getvalue().strip():{BAR_COLUMNS}}]"


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
        plain = "".join(c if c.isprintable() else "?" for c in words[:100])  # some are a child's
        self._words = plain if self._thread is None else _with_bar(plain)
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
        line = f"gpudoctor: examining {self._words}{since}"
        self._write(f"\r\x1b[K{line[: _columns() - 1]}")  # a line that wraps cannot be taken back

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
