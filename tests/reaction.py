"""How long processes take to react, counted so that a busy machine does not change it: the seconds in which none of them
waited for a core. Linux."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

LIMIT_S = 2.0
"""What whoever sends SIGTERM may expect before he sends SIGKILL."""
HANG_S = 300.0
"""Ends a test that waits for nothing, however busy the machine is; judges nothing."""


def unhurried(words: Iterable[str]) -> list[str]:
    """The command line, where a healthcheck may take as long as it needs unless a test is about its time.

    Its own ten seconds are over on a machine with ten times as many processes as cores; the answer is then UNKNOWN.
    """
    words = list(words)
    if "healthcheck" not in words or "--timeout" in words:
        return words
    after = words.index("healthcheck") + 1
    return [*words[:after], "--timeout", f"{HANG_S:g}", *words[after:]]


def waited_s(pids: Iterable[int]) -> dict[tuple[int, str], float]:
    """Seconds in which each thread of these processes was ready to run and had no core.

    Source: Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat, second number.
    """
    found = {}
    for pid in pids:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                found[pid, thread] = int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[1]) / 1e9
        except OSError:
            continue
    return found


def too_slow(living: Callable[[], Mapping[str, Iterable[int]]], limit_s: float = LIMIT_S) -> set[str]:
    """Which of several groups of processes still live after so many seconds of their own, from now on. Waits for the
    others' end.

    `living`: the pids of each group. A step between two looks does not count as far as the thread that was kept waiting
    most in it waited for a core.
    """
    own: dict[str, float] = defaultdict(float)
    before: dict[tuple[int, str], float] = {}
    last = time.monotonic()
    while True:
        alive = {name: waited_s(pids) for name, pids in living().items() if pids}
        now = time.monotonic()
        for name, threads in alive.items():
            longest = max((seconds - before.get(key, 0.0) for key, seconds in threads.items()), default=0.0)
            own[name] += max(0.0, now - last - longest)
            before.update(threads)
        if not any(own[name] <= limit_s for name in alive):
            return set(alive)
        last = now
        time.sleep(0.02)
