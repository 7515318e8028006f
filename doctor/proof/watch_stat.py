"""One process or thread as /proc tells it."""

from __future__ import annotations

import os
from typing import NamedTuple

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01


class Thread(NamedTuple):
    """A thread; `start` in clock ticks since the machine started, `cpu_s` user and system time in all."""

    tid: int
    start: int
    name: str
    cpu_s: float


class Seen(NamedTuple):
    """A process of the tree as it was found now.

    reaped_s: CPU time of its children that ended and were waited for; threads: None if they were not worth reading;
    worker: 1 looks like a worker of a data loader, 2 is a child of one; path: its Python; waited_s: time in which its
    main thread was ready to run and had no core, read with the threads.
    """

    pid: int
    start: int
    parent: int
    name: str
    state: str
    cpu_s: float
    reaped_s: float
    thread_count: int
    threads: tuple[Thread, ...] | None = None
    python: bool = False
    worker: int = 0
    path: str = ""
    waited_s: float | None = None


def link_target(path: str) -> str:
    """Where a link points to; empty if that cannot be read."""
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return ""


def read_stat(proc: str, path: str) -> Seen | None:
    """The numbers of a stat file below the folder `proc`; None if there is none."""
    data = read_bytes(proc, path, 1024)
    head, _, rest = data.rpartition(b") ")
    pid, _, name = head.partition(b" (")
    words = rest.split()
    try:
        ticks = [int(words[at]) for at in (11, 12, 13, 14)]
        return Seen(
            int(pid),
            int(words[19]),
            int(words[1]),
            name.decode("utf-8", "replace"),
            words[0].decode(),
            (ticks[0] + ticks[1]) * _TICK_S,
            (ticks[2] + ticks[3]) * _TICK_S,
            int(words[17]),
        )
    except (ValueError, IndexError):
        return None


def read_bytes(proc: str, path: str, most: int) -> bytes:
    """The first bytes of a file below the folder `proc`; empty if it cannot be read."""
    try:
        descriptor = os.open(f"{proc}/{path}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, most)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
