"""Run a gatherer in this process, in a thread that may be left behind: a file system that hangs must not hang us."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeAlias

Line: TypeAlias = dict[str, Any]
Work: TypeAlias = Callable[[Callable[[Line], None]], None]


class Gathering:
    """A gatherer at work. `lines` grows while it runs; `wait` gives what there is at the end or at the deadline."""

    def __init__(self, work: Work, deadline_s: float, on_line: Callable[[Line], None] | None = None) -> None:
        self._work = work
        self._on_line = on_line
        self._deadline = monotonic() + deadline_s
        self._done = Event()
        self.lines: list[Line] = []
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self) -> list[Line]:
        """The lines; after a hang those that came before it (no `end` line is among them then)."""
        self._done.wait(max(0.0, self._deadline - monotonic()))
        return list(self.lines)

    def _emit(self, line: Line) -> None:
        self.lines.append(line)
        if self._on_line is not None:
            self._on_line(line)

    def _run(self) -> None:
        try:
            self._work(self._emit)
        except Exception as error:  # whatever a strange machine does to it, the other lines stand
            self._emit({"at": "failed", "detail": f"{type(error).__name__}: {error}"[:300]})
        finally:
            self._done.set()
