"""What is left of a watched run."""

from __future__ import annotations

from msgspec import Struct

from ..snapshot.fact import Missing
from ..snapshot.measured import Load, StepEnd, Watch
from .watch_tree import Main

ABSENT = Missing("absent", "it exited before it was examined")


class Watched(Struct, frozen=True, kw_only=True):
    """What is left of a watched run."""

    watch: Watch
    loads: tuple[Load, ...] | Missing
    ended: tuple[StepEnd, ...] = ()
    code: int = 0
    """The exit code to pass on: the command's, 128 + N after signal N, 0 of a process that ran before."""
    python: str = ""
    """The interpreter of its main process, where that is a Python."""
    unseen: bool = False
    """It ended before any of its processes was looked at."""
    env: dict[str, str] | None = None
    cwd: str = ""
    """Variables and working directory of a process that ran before, where it is the same user's."""
    hurried: bool = False
    """SIGTERM or SIGHUP came: whoever sent it may send SIGKILL soon."""


def share(cpu_s: float, seconds: float) -> float:
    """Cores: seconds of CPU time over seconds."""
    return round(max(0.0, cpu_s) / seconds, 3)


def percent(part_s: float | None, main: Main | None) -> float | Missing:
    """Of the time in which the main process was looked at."""
    if main is None or part_s is None or not main.observed_s:
        return ABSENT
    return round(min(100.0, 100 * part_s / main.observed_s), 1)
