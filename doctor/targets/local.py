"""Run a gatherer in a separate process: a file system that hangs must not hang us, and importing goes on meanwhile.

On Linux the gatherer is a forked child, so that it works on another core while this process imports what judging
needs. Elsewhere, and where threads already run (a fork could copy a lock that one of them holds), it is a thread that
may be left behind.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from ..patient.agent_boot import end_with
from .interrupts import heard

if TYPE_CHECKING:  # at run time typing is imported later, while the child works
    from typing import Any, BinaryIO, TypeAlias

    Line: TypeAlias = dict[str, Any]
    Work: TypeAlias = Callable[[Callable[[Line], None]], None]
else:
    Line = dict


_LONGER_S = 2.0
"""So long it goes on until it is looked at again."""


class Gathering:
    """A gatherer at work. `lines` grows while it runs; `wait` gives what there is at the end or at the deadline.

    `on_line` is called with each line, in a thread. A forked one that is slow and not dead (see patient/movement.py)
    may take `patience_s` in all.
    """

    def __init__(
        self,
        work: Work,
        deadline_s: float,
        on_line: Callable[[Line], None] | None = None,
        fork: bool = True,
        patience_s: float = 0.0,
    ) -> None:
        self._on_line = on_line
        started = monotonic()
        self._deadline, self._limit = started + deadline_s, started + max(deadline_s, patience_s)
        self._done = threading.Event()
        self._pid = 0
        self._lifeline = -1
        self.lines: list[Line] = []
        alone = fork and sys.platform == "linux" and threading.active_count() == 1
        source = self._fork(work) if alone else None
        run: Callable[[], None] = (lambda: self._run(work)) if source is None else (lambda: self._read(source))
        try:
            threading.Thread(target=run, daemon=True).start()
        except RuntimeError:  # none is left to start (ulimit -u): then nothing else goes on meanwhile
            run()

    def wait(self) -> list[Line]:
        """The lines; after a hang those that came before it (no `end` line is among them then)."""
        heard()
        while not self._done.wait(max(0.0, self._deadline - monotonic())):
            if not self._may_go_on():
                self.kill()
                break
            heard()
        return list(self.lines)

    def _may_go_on(self) -> bool:
        """At its deadline: whether it still reads, computes or waits for a core, and there is time left for it."""
        if not self._pid or monotonic() >= self._limit:
            return False
        from ..patient.movement import moves

        if not moves(self._pid, None):
            return False
        self._deadline = min(self._limit, monotonic() + _LONGER_S)
        return True

    def kill(self) -> None:
        """End the child, if it still runs."""
        if self._pid and not self._done.is_set():
            from signal import SIGKILL

            try:
                os.kill(self._pid, SIGKILL)
            except OSError:
                return

    def _emit(self, line: Line) -> None:
        self.lines.append(line)
        if self._on_line is not None:
            self._on_line(line)

    def _run(self, work: Work) -> None:
        try:
            work(self._emit)
        except Exception as error:  # whatever a strange machine does to it, the other lines stand
            self._emit(_failed(error))
        finally:
            self._done.set()

    def _fork(self, work: Work) -> BinaryIO | None:
        """The stream of the child's lines; None if no process can be made."""
        pipes: list[int] = []
        try:
            for _ in range(2):
                pipes += os.pipe()
            source, sink, held, self._lifeline = pipes
            self._pid = os.fork()
        except OSError:
            for fd in pipes:
                os.close(fd)
            return None
        if self._pid == 0:
            os.close(source)
            os.close(self._lifeline)
            _child(work, sink, held, int(self._limit - monotonic()) + 5)
        os.close(sink)
        os.close(held)
        return os.fdopen(source, "rb")

    def _read(self, source: BinaryIO) -> None:
        from marshal import loads

        try:
            with source:
                while len(head := source.read(4)) == 4:
                    size = int.from_bytes(head, "little")
                    data = source.read(size)
                    if len(data) == size:
                        self._emit(loads(data))
            status = os.waitpid(self._pid, 0)[1]
            if status and monotonic() < self._deadline:
                self._emit({"at": "failed", "detail": f"the file reader was killed by signal {status & 127}"})
        except OSError:  # reaped elsewhere
            pass
        finally:
            self._done.set()


def _child(work: Work, sink: int, held: int, seconds: int) -> None:
    """The forked side: never returns. `held`: its lifeline; `seconds`: until its alarm."""
    from marshal import dumps

    def emit(line: Line) -> None:
        data = dumps(line)
        data = len(data).to_bytes(4, "little") + data
        while data:
            data = data[os.write(sink, data) :]

    code = 1
    try:
        os.setsid()  # Ctrl-C is the parent's business
        end_with(held, seconds)
        try:
            work(emit)
        except Exception as error:
            emit(_failed(error))
        code = 0
    finally:
        os._exit(code)


def _failed(error: Exception) -> Line:
    return {"at": "failed", "detail": f"{type(error).__name__}: {error}"[:300]}
