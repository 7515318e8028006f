"""What an agent in a child process wrote, line by line, and what is left of it at its end."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Literal, TypeAlias

Fault: TypeAlias = Literal["hang", "slow", "starved", "crash", "failed"]
OnLine: TypeAlias = Callable[[dict[str, Any]], None]

OUTPUT_LIMIT = 8 << 20
"""Bytes of stdout after which an agent is killed."""
TAIL_LIMIT = 4096
"""Bytes of stderr that are kept, the last ones."""
NOISE_LIMIT = 50
"""Lines of stdout that are not JSON objects and are kept, the first ones."""


class AgentResult:
    """What is left of a child.

    lines: JSON objects in order.
    returncode: minus the signal's number where a signal ended it; None if it never started or could not be reaped
    (a process in uninterruptible sleep inside the driver).
    fault: `hang` (it stood still until its deadline), `slow` and `starved` (it still moved, or had no core, when all
    time was over; `waits` says what it waited for), `crash` (a signal), `failed` (an exit code, the end inside a
    call, too much output).
    guilty: the call begun last that never reported.
    stderr_tail: at most 4 KiB; noise: stdout lines that are not JSON objects; seconds: wall time from the start;
    silent: the last of them, in which it wrote no line.
    stuck: of a child that even SIGKILL did not end (state D), its `pid` and the kernel function `wchan` that it is in.
    """

    __slots__ = (
        "fault",
        "guilty",
        "lines",
        "noise",
        "returncode",
        "seconds",
        "silent",
        "stderr_tail",
        "stuck",
        "waits",
    )

    def __init__(
        self,
        lines: list[dict[str, Any]] | None = None,
        returncode: int | None = 0,
        fault: Fault | None = None,
        guilty: str | None = None,
        stderr_tail: str = "",
        seconds: float = 0.0,
        noise: list[str] | None = None,
        stuck: dict[str, Any] | None = None,
        waits: str = "",
        silent: float = 0.0,
    ) -> None:
        self.lines = [] if lines is None else lines
        self.returncode = returncode
        self.fault = fault
        self.guilty = guilty
        self.stderr_tail = stderr_tail
        self.seconds = seconds
        self.noise = [] if noise is None else noise
        self.stuck = stuck
        self.waits = waits
        self.silent = silent

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON values, for a recording: `AgentResult(**recorded)` is the result again."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        words = f"{len(self.lines)} lines, returncode {self.returncode}"
        return f"AgentResult({words}, fault={self.fault!r}, guilty={self.guilty!r}, {self.seconds:.3f} s)"


class Output:
    """Collects a child's two streams: whole lines are parsed as they come, memory is bounded."""

    def __init__(self, on_line: OnLine | None = None) -> None:
        from .json_lines import parse_line

        self.loads = parse_line
        self.on_line = on_line
        self.lines: list[dict[str, Any]] = []
        self.noise: list[str] = []
        self.tail = b""
        self.size = 0
        self.rest = b""
        self.started = monotonic()
        self.wrote = 0.0
        """When the last line was written, where it tells, or came, in seconds from the start."""

    @property
    def step(self) -> str | None:
        """The call begun last, where nothing was reported after it."""
        last = self.lines[-1].get("begin") if self.lines else None
        return last if isinstance(last, str) else None

    @property
    def silent_s(self) -> float:
        """How long it has written no line."""
        return monotonic() - self.started - self.wrote

    def feed(self, data: bytes) -> None:
        """Take bytes of stdout."""
        self.size += len(data)
        *whole, self.rest = (self.rest + data).split(b"\n")
        for line in whole:
            self._line(line)

    def feed_stderr(self, data: bytes) -> None:
        """Take bytes of stderr."""
        self.tail = (self.tail + data)[-TAIL_LIMIT:]

    def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            value = self.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            now, stamp = monotonic(), value.pop("ms", None)
            written = stamp / 1000 if isinstance(stamp, int) and self.started * 1000 <= stamp <= now * 1000 else now
            self.wrote = written - self.started
            self.lines.append(value)
            if self.on_line is not None:
                self.on_line(value)
        elif len(self.noise) < NOISE_LIMIT:
            self.noise.append(line[:500].decode("utf-8", "replace"))

    def result(self, returncode: int | None, fault: Fault | None, seconds: float) -> AgentResult:
        """Close the books: a cut last line is taken if it is whole, else kept as noise."""
        self._line(self.rest)
        self.rest = b""
        guilty = self.step
        if fault is None and returncode is not None and returncode < 0:
            fault = "crash"
        if fault is None and (returncode != 0 or guilty is not None):
            fault = "failed"
        tail = self.tail.decode("utf-8", "replace")
        silent = max(0.0, seconds - self.wrote)
        return AgentResult(self.lines, returncode, fault, guilty, tail, seconds, self.noise, silent=silent)
