"""CPU time of a watched process tree, summed look by look; nothing grows with the time that is watched. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from .watch_stat import Seen, Thread

_IDLE_CORES = 0.1
"""Cores, below which the whole tree does nothing."""
SATURATED = 0.9
"""Share of a core from which on a thread counts as the one that the rest waits for."""
_KEPT = 16
"""Ended processes that are remembered one by one."""


class Main(NamedTuple):
    """The process that the others work for: it holds the GPU, else it is the busiest Python, else the busiest."""

    pid: int
    name: str
    used_s: float
    blocked_s: float
    observed_s: float
    waited_s: float | None
    """Ready to run, without a core."""
    path: str


class _Thread:
    __slots__ = ("base_s", "cpu_s", "main", "name", "time")

    def __init__(self, thread: Thread, main: bool, base_s: float, time: float) -> None:
        self.name, self.main = thread.name, main
        self.base_s, self.time = base_s, time
        self.cpu_s = base_s

    @property
    def used_s(self) -> float:
        return self.cpu_s - self.base_s

    def words(self) -> str:
        """`main thread of python3`, or the thread's own name."""
        return f"main thread of {self.name}" if self.main else self.name


class _Process:
    def __init__(self, seen: Seen, base_s: float) -> None:
        self.seen = seen
        self.base_s = base_s
        self.blocked_s = self.observed_s = 0.0
        self.waited_s: float | None = None
        self._waited: float | None = None
        self.holds_gpu = False
        self.threads: dict[tuple[int, int], _Thread] = {}

    @property
    def used_s(self) -> float:
        return self.seen.cpu_s - self.base_s

    def wait(self, waited_s: float | None) -> None:
        """Take the kernel's count of the time without a core."""
        if waited_s is not None:
            before, self._waited = self._waited, waited_s
            self.waited_s = (self.waited_s or 0.0) + max(0.0, waited_s - (waited_s if before is None else before))

    def rank(self) -> tuple[bool, bool, float]:
        return self.holds_gpu, self.seen.python and not self.seen.worker, self.used_s


class TreeSum:
    """Take every look at the tree, then ask. Times in seconds of one clock, that of the looks."""

    def __init__(self, start: float, attached: bool = False) -> None:
        self.start = self.time = self._alive = start
        self.processes_max = self.threads_max = self.workers_max = 0
        self._attached = attached
        self._samples = 0
        self._live: dict[tuple[int, int], _Process] = {}
        self._ended: list[_Process] = []
        self._ended_workers_s = 0.0
        self._best_ended: tuple[float, str] = (0.0, "")
        self._lost_s = self._base_s = self._total_s = 0.0
        self._saturated_s = self._observed_s = self._idle_s = 0.0

    def take(self, time: float, tree: Sequence[Seen], holders: Collection[int] = ()) -> None:
        """One look: all processes of the tree. `holders`: those that have a context on a GPU."""
        passed = time - self.time
        first = self._samples == 0
        self._samples += 1
        live: dict[tuple[int, int], _Process] = {}
        highest = 0.0
        reaped: dict[int, float] = {}
        for seen in tree:
            process = self._live.pop((seen.pid, seen.start), None)
            if process is None:
                process = _Process(seen, seen.cpu_s if first and self._attached else 0.0)
            reaped[seen.pid] = seen.reaped_s - process.seen.reaped_s
            process.seen = seen
            process.holds_gpu = process.holds_gpu or seen.pid in holders
            process.observed_s += passed
            process.wait(seen.waited_s)
            process.blocked_s += passed if seen.state == "D" else 0.0
            highest = max(highest, self._threads(process, time, first))
            live[seen.pid, seen.start] = process
        self._end(reaped)
        self._live = live
        total = sum(seen.cpu_s + seen.reaped_s for seen in tree) + self._lost_s
        if first and self._attached:
            self._base_s = total
        before_s, self._total_s = self._total_s, max(self._total_s, total - self._base_s)
        if not (first and self._attached):
            self._observed_s += passed
            self._saturated_s += passed if highest >= SATURATED else 0.0
            self._idle_s += passed if self._total_s - before_s < _IDLE_CORES * passed else 0.0
        self.time = time
        alive = [seen for seen in tree if seen.state not in "ZX"]
        self._alive = time if alive else self._alive
        self.processes_max = max(self.processes_max, len(alive))
        self.threads_max = max(self.threads_max, sum(seen.thread_count for seen in alive))
        workers = sum(1 for p in live.values() if p.seen.worker == 1 and not p.holds_gpu and p.seen.state not in "ZX")
        self.workers_max = max(self.workers_max, workers)

    def _threads(self, process: _Process, time: float, first: bool) -> float:
        """Take a process's threads; the share of a core that the busiest took since it was read last."""
        if process.seen.threads is None:
            return 0.0
        known, highest = process.threads, 0.0
        process.threads = {}
        for thread in process.seen.threads:
            key = thread.tid, thread.start
            entry = known.pop(key, None)
            if entry is None:
                base = thread.cpu_s if first and self._attached else 0.0
                entry = _Thread(thread, thread.tid == process.seen.pid, base, self.time)
            passed = time - entry.time
            if passed > 0:
                highest = max(highest, (thread.cpu_s - entry.cpu_s) / passed)
            entry.cpu_s, entry.time, entry.name = thread.cpu_s, time, thread.name
            process.threads[key] = entry
        for entry in known.values():
            self._best_ended = max(self._best_ended, (entry.used_s, entry.words()))
        return highest

    def _end(self, there: dict[int, float]) -> None:
        """What is left in `_live` has ended. `there`: who is, and the CPU time of children it has waited for since."""
        parents = {process.seen.pid: process.seen.parent for process in self._live.values()}
        for process in self._live.values():
            seen = process.seen
            above = seen.parent
            for _ in parents:
                if above in there or above not in parents:
                    break
                above = parents[above]
            if above not in there:  # nobody of the tree has its time among that of waited-for children
                self._lost_s += seen.cpu_s + seen.reaped_s
            if seen.worker and not process.holds_gpu:
                self._ended_workers_s += process.used_s
            for entry in process.threads.values():
                self._best_ended = max(self._best_ended, (entry.used_s, entry.words()))
            process.threads = {}
            self._ended.append(process)
        for pid, waited_for_s in there.items():
            ended = [p for p in self._live.values() if p.seen.parent == pid]
            if ended and all(p.seen.worker and not p.holds_gpu for p in ended):
                # What they used after the last look is known by their parent alone.
                rest = waited_for_s - sum(p.seen.cpu_s + p.seen.reaped_s for p in ended)
                self._ended_workers_s += max(0.0, rest)
        self._ended = sorted(self._ended, key=_Process.rank)[-_KEPT:]

    def cpu_s(self) -> float:
        """CPU time of the tree while it was watched."""
        return self._total_s

    def workers_s(self) -> float:
        """CPU time of those that look like workers of a data loader, their children included."""
        live = (p.used_s for p in self._live.values() if p.seen.worker and not p.holds_gpu)
        return self._ended_workers_s + sum(live)

    def workers_blocked_share(self) -> float | None:
        """Share of the time in which a loader worker waited for a disk, mean over them; None if none was seen."""
        workers = [p for p in (*self._ended, *self._live.values()) if p.seen.worker == 1 and not p.holds_gpu]
        observed_s = sum(p.observed_s for p in workers)
        return sum(p.blocked_s for p in workers) / observed_s if observed_s else None

    def busiest_thread(self) -> tuple[float, str] | None:
        """(share of a core over the whole time, words) of the thread that used most; None if none was read."""
        found = [(self._best_ended[0], self.time, self._best_ended[1])] if self._best_ended[1] else []
        for process in self._live.values():
            for t in process.threads.values():
                # At the last look the threads are gone already: theirs is the time until the one before.
                found.append((t.used_s, self.time if t.time == self.time else self._alive, t.words()))
        if not found:
            return None
        used_s, until, words = max(found)
        return used_s / max(until - self.start, 1e-3), words

    def saturated_share(self) -> float | None:
        """Share of the watched time in which one thread took nearly a whole core; None: not looked at long enough."""
        return self._saturated_s / self._observed_s if self._samples > 1 and self._observed_s > 0 else None

    def idle_share(self) -> float | None:
        """Share of the watched time in which the tree did nothing; None: not looked at long enough."""
        return self._idle_s / self._observed_s if self._samples > 1 and self._observed_s > 0 else None

    def main(self) -> Main | None:
        """The process that matters; None if none was seen."""
        everybody = [*self._ended, *self._live.values()]
        if not everybody:
            return None
        best = max(everybody, key=_Process.rank)
        seen = best.seen
        return Main(seen.pid, seen.name, best.used_s, best.blocked_s, best.observed_s, best.waited_s, seen.path)
