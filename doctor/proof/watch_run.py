"""Watch a command, or a process that runs already, to its end: look at it now and then, sum, keep nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from time import monotonic, process_time, thread_time

from ..snapshot.fact import Missing
from ..snapshot.measured import StepEnd, Watch
from .watch_command import Command, Signals
from .watch_gpu import GpuSum
from .watch_host import cores, environment_of, has_gpu_nodes, own_numbers, program_path, python_of
from .watch_proc import Tree
from .watch_sampler import PATIENCE_S, WatchSampler
from .watch_tree import Main, TreeSum
from .watched import ABSENT, Watched, percent, share

INTERVAL_S = 0.5
FIRST_SAMPLES_S = (0.1, 0.25, 0.5)
_LIBRARIES_S = (0.5, 2.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
_FILES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
_FILES_EVERY_S = 60.0
_SHARE = 0.005
"""Of one core, what looking may take: the next look comes after 200 times what this one took."""
_LONGEST_S = 5.0
_RARER = ((600.0, 2.0), (3600.0, 4.0))
"""After so many seconds, so many times the interval (where the user named none)."""
_ALIVE_S = 0.5
HURRIES = (signal.SIGTERM, signal.SIGHUP)
HURRIED_S = 0.4
"""How long each child may take to answer once one of these came: the report is out within two seconds."""
GPU_PHASE_S = 3.0
"""From so many seconds on a GPU on, the CPU is told of that time alone: importing and preparing are another matter."""


def watch_command(words: Sequence[str], sampler: Sequence[str] | None, interval_s: float | None = None) -> Watched:
    """Run a command to its end. `sampler`: the command of NVML's sampler. Raises CannotStart."""
    with Signals() as signals:
        start = monotonic()
        command = Command(words, signals)
        program = os.path.basename(words[0].rstrip("/")) or words[0]  # noqa: PTH119
        return _Watcher(command.pid, program, start, sampler, interval_s, command).run(signals)


def watch_process(pid: int, program: str, sampler: Sequence[str] | None, interval_s: float | None = None) -> Watched:
    """Watch a process until it ends or a signal comes."""
    with Signals() as signals:
        return _Watcher(pid, program, monotonic(), sampler, interval_s, None).run(signals)


class _Watcher:
    def __init__(
        self,
        pid: int,
        program: str,
        start: float,
        sampler: Sequence[str] | None,
        interval_s: float | None,
        command: Command | None,
    ) -> None:
        self.pid, self.program, self.start, self.command = pid, program, start, command
        self.given_s, self.interval_s = interval_s, interval_s or INTERVAL_S
        self.tree = Tree(pid, without=(os.getpid(),))
        self.sums = TreeSum(start, attached=command is None)
        self.since: TreeSum | None = None
        """The same since it was first seen on a GPU."""
        self.nodes = has_gpu_nodes()
        self.gpus = GpuSum(start, own_numbers(), self.nodes)
        self.sampler = WatchSampler(sampler, self.interval_s) if sampler is not None else None
        self.hurried = False
        self.numbered: set[str] = set()
        self.pids: set[int] = {pid}
        self.libraries: set[str] | None = None
        self.world_size: int | None = None
        self.unreadable = False
        self.next_libraries, self.next_files = list(_LIBRARIES_S), list(_FILES_S)
        self.seen = False
        """Whether any of its processes was looked at while it ran."""
        self.cores: float | None = None
        self.env = environment_of(pid) if command is None else None
        self.cwd = _cwd(pid) if command is None and self.env is not None else ""
        self.trouble: StepEnd | None = None
        self.cost_s = 0.0
        """CPU time of a look at the tree, as it was lately."""

    def run(self, signals: Signals) -> Watched:
        """Look, sleep, pass signals on; until the end."""
        due = self.start + (FIRST_SAMPLES_S[0] if self.command is not None else 0.0)
        while True:
            wait = due - monotonic()
            came = signals.wait(wait if self.command is not None else min(wait, _ALIVE_S))
            if self.command is None:
                if came is not None and came.si_signo in signals.passed:
                    self.hurried = came.si_signo in HURRIES
                    break
                if not os.path.exists(f"/proc/{self.pid}"):  # noqa: PTH110
                    break
            elif self.command.ended():
                break
            elif came is not None and came.si_signo in signals.passed:
                self.hurried = self.hurried or came.si_signo in HURRIES
                self.command.pass_on(came)
            if monotonic() >= due:
                if not self.take_sample() and self.command is None:
                    break
                due = monotonic() + self.pause()
        end = monotonic()
        self.take_sample()
        code, cpu_s = self.command.reap() if self.command is not None else (0, 0.0)
        return self.result(end, code, cpu_s)

    def pause(self) -> float:
        """Seconds until the next look."""
        passed = monotonic() - self.start
        first = next((at - passed for at in FIRST_SAMPLES_S if at > passed + 0.02), None)
        if first is not None and self.command is not None and self.given_s is None:
            return first
        longer = 1.0 if self.given_s else max([1.0, *(times for after, times in _RARER if passed > after)])
        return max(longer * self.interval_s, min(self.cost_s / _SHARE, _LONGEST_S))

    def take_sample(self) -> bool:
        """One look at everything; False if the process is gone. What goes wrong here must not end the command."""
        if self.trouble is not None:
            return True
        try:
            return self._sample()
        except Exception as error:
            words = f"{type(error).__name__}: {error}"[:300]
            self.trouble = StepEnd(agent="watch", step="look", fault="failed", detail=words)
            return True

    def _sample(self) -> bool:
        now, spent = monotonic(), thread_time()
        seen = self.tree.take_sample(now)
        self.cost_s += 0.3 * (thread_time() - spent - self.cost_s)
        self.seen = self.seen or any(process.state not in "ZX" for process in seen)
        passed = now - self.start
        before, self.pids = self.pids, self.tree.pids
        if self.sampler is not None:
            for sample in self.sampler.read():
                self.gpus.take(sample, self.pids | before)
            for key in self.sampler.gpus.keys() - self.numbered:
                self.numbered.add(key)
                minor = self.sampler.gpus[key].minor
                if minor is not None:
                    self.gpus.number(minor, key)
        if self.nodes and not self.gpus.decided and passed >= self.next_files[0]:
            self.gpus.hold(now, self.tree.held())
            self.next_files = [at for at in self.next_files if at > passed] or [passed + _FILES_EVERY_S]
        if self.next_libraries and passed >= self.next_libraries[0]:
            found, readable = self.tree.libraries()
            self.unreadable = self.unreadable or not readable
            self.libraries = found | (self.libraries or set()) if readable else self.libraries
            self.world_size = max(self.world_size or 0, self.tree.world_size() or 0) or None
            self.next_libraries = [at for at in self.next_libraries if at > passed]
        if self.cores is None or passed < FIRST_SAMPLES_S[-1] + self.interval_s:
            self.cores = cores(self.pid) or self.cores  # a wrapper such as taskset or numactl comes first
        self.sums.take(now, seen, self.gpus.holders())
        if self.since is not None:
            self.since.take(now, seen, self.gpus.holders())
        elif self.gpus.holders():
            self.since = TreeSum(now, attached=True)
            self.since.take(now, self.tree.take_sample(now, everything=True), self.gpus.holders())
        return any(process.pid == self.pid and process.state not in "ZX" for process in seen)

    def result(self, end: float, code: int, cpu_s: float) -> Watched:
        """The sums as facts."""
        ended: tuple[StepEnd, ...] = () if self.trouble is None else (self.trouble,)
        if self.sampler is not None:
            for sample in self.sampler.stop(HURRIED_S if self.hurried else PATIENCE_S):
                if sample.time <= end:
                    self.gpus.take(sample, self.pids)
            fault = self.sampler.end()
            ended += () if fault is None else (fault,)
        loads = self.gpus.loads()
        main = self.sums.main()
        return Watched(
            watch=self.facts(max(end - self.start, 1e-3), code, cpu_s),
            loads=loads or Missing("absent", "no NVML sample"),
            ended=ended,
            code=128 - code if code < 0 else code,
            python=self.python(main),
            unseen=not self.seen,
            env=self.env,
            cwd=self.cwd,
            hurried=self.hurried,
        )

    def python(self, main: Main | None) -> str:
        """The interpreter of the main process; of a command that ended before it was seen, the one that it names."""
        seen = program_path(main.path, self.cwd or _cwd(os.getpid()), self.env) if main is not None else ""
        return seen or (python_of(self.command.words, _cwd(os.getpid())) if self.command is not None else "")

    def facts(self, seconds: float, code: int, cpu_s: float) -> Watch:
        """CPU in cores: seconds of CPU time over seconds of watching."""
        used, whole, sums, span = self.gpus.used(), self.sums, self.sums, seconds
        if self.since is not None and used.uses_gpu is True and self.sums.time - self.since.start >= GPU_PHASE_S:
            sums, span = self.since, self.sums.time - self.since.start
        cpu_s = sums.cpu_s() if sums is self.since else max(sums.cpu_s(), cpu_s)
        main, busiest, saturated = sums.main(), sums.busiest_thread(), sums.saturated_share()
        blocked, idle = sums.workers_blocked_share(), sums.idle_share()
        known = main is not None
        attached = self.command is None
        denied = Missing("denied", "its memory map cannot be read")
        running = Missing("absent", "it was already running, and gpudoctor did not wait for it to end")
        return Watch(
            program=self.program,
            seconds=round(seconds, 3),
            attached=attached,
            exit_code=running if attached else Missing("absent", "ended by a signal") if code < 0 else code,
            signal=running if attached else -code if code < 0 else Missing("absent", "not ended by a signal"),
            processes_max=whole.processes_max,
            threads_max=whole.threads_max,
            cpu_cores=share(cpu_s, span) if known or not attached else ABSENT,
            busiest_thread=ABSENT if busiest is None else round(min(1.0, busiest[0]), 3),
            busiest_thread_name="" if busiest is None else busiest[1][:80],
            busiest_thread_saturated_percent=ABSENT if saturated is None else round(100 * saturated, 1),
            main_cores=ABSENT if main is None else share(main.used_s, span),
            workers=whole.workers_max if known else ABSENT,
            workers_cores=share(sums.workers_s(), span) if known else ABSENT,
            workers_blocked_percent=ABSENT if blocked is None else round(100 * blocked, 1),
            blocked_percent=percent(main.blocked_s if main is not None else None, main),
            core_wait_percent=percent(main.waited_s if main is not None else None, main),
            cpu_idle_percent=ABSENT if idle is None else round(100 * idle, 1),
            cores=ABSENT if self.cores is None else self.cores,
            sampler_cpu_s=round(process_time() + (self.sampler.cpu_s if self.sampler is not None else 0.0), 3),
            libraries=(
                tuple(sorted(self.libraries)) if self.libraries is not None else denied if self.unreadable else ABSENT
            ),
            world_size=ABSENT if self.world_size is None else self.world_size,
            **used._asdict(),
        )


def _cwd(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115
    except OSError:
        return ""
