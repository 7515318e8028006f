"""The processes of one tree, read from /proc: CPU time of each and of its threads, GPUs held open, libraries mapped.

Cheap enough to be done twice a second: processes outside the tree are looked at once, threads only of processes that
worked since they were looked at last. Nothing is kept of command lines but the interpreter's path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from .watch_host import PYTHON
from .watch_stat import Seen, Thread, link_target, read_bytes, read_stat

_BUSY_SHARE = 0.02
"""A process that used less of one core since it was looked at last has no thread worth reading."""
_MAX_FDS = 8192
_MAX_MAPS = 16 << 20
_LIBRARY = re.compile(
    rb"/(lib(?:cuda|cudart|cublas|cublasLt|cudnn\w*|nccl|nvrtc|cufft|cusparse|cusolver|torch_cuda\w*|c10_cuda|"
    rb"tensorflow_gpu\w*|onnxruntime_providers_cuda)(?:-[0-9a-f]+)?\.so[\w.]*)$",
    re.MULTILINE,
)
"""Libraries that only a program with CUDA maps; libtorch_cpu.so is in every torch."""
_NODE = re.compile(r"/dev/nvidia(\d+)$")
_UVM = "/dev/nvidia-uvm"
_JOB_SIZES = frozenset((b"WORLD_SIZE", b"OMPI_COMM_WORLD_SIZE", b"PMI_SIZE"))
"""How many ranks a launcher says that there are: torchrun, Open MPI, MPICH and Intel MPI."""
_MAX_ENVIRON = 4 << 20
_OTHER_NODES = ("/dev/dxg", "/dev/nvhost-gpu", "/dev/nvmap", "/dev/nvgpu/")
"""WSL, Jetson."""


class Held(NamedTuple):
    """What processes hold open of the GPUs: pid to the minors of its /dev/nvidiaN (-1: a node without a number)."""

    by_pid: dict[int, tuple[int, ...]]
    denied: bool
    """Some process could not be looked into."""


class _Member:
    __slots__ = ("about", "cpu_s", "most_threads", "parent", "samples", "start", "time")

    def __init__(self, start: int, parent: int) -> None:
        self.start = start
        self.parent = parent
        self.samples = 0
        self.cpu_s = -1.0
        self.time = 0.0
        self.most_threads = 0
        self.about: tuple[bool, int, str, bytes] = (False, 0, "", b"")
        """python, worker, path, command line (compared with the children's, never reported)."""


class Tree:
    """A process and all that descend from it. `proc` is where /proc lies."""

    def __init__(self, root: int, proc: str = "/proc", without: Iterable[int] = ()) -> None:
        self.root = root
        self.proc = proc
        self._without = frozenset(without)
        self._members: dict[int, _Member] = {}
        self._strangers: set[int] = set()

    @property
    def pids(self) -> set[int]:
        """The members found by the last look."""
        return set(self._members)

    def take_sample(self, now: float, everything: bool = False) -> list[Seen]:
        """All members that are there now, parents before children as far as they are known.

        `everything`: the threads of all of them, also where nobody worked.
        """
        try:
            there = {int(name) for name in os.listdir(self.proc) if name.isdecimal()}  # noqa: PTH208
        except OSError:
            there = {self.root, *self._members}
        self._strangers &= there
        found: dict[int, Seen] = {}
        for pid in [self.root, *self._members]:
            stat = read_stat(self.proc, f"{pid}/stat") if pid not in found else None
            member = self._members.get(pid)
            if stat is not None and (member is None or member.start == stat.start):
                found[pid] = stat
        new = {
            pid: stat
            for pid in there - found.keys() - self._strangers - self._without
            if (stat := read_stat(self.proc, f"{pid}/stat")) is not None
        }
        while ours := [pid for pid, stat in new.items() if stat.parent in found]:
            for pid in ours:
                found[pid] = new.pop(pid)
        self._strangers |= new.keys()
        self._members = {pid: self._members.get(pid) or _Member(stat.start, stat.parent) for pid, stat in found.items()}
        return [self._seen(stat, self._members[pid], now, everything) for pid, stat in found.items()]

    def _seen(self, stat: Seen, member: _Member, now: float, everything: bool) -> Seen:
        """The same with its kind and its threads."""
        member.samples += 1
        member.most_threads = max(member.most_threads, stat.thread_count)
        if member.samples <= 2:  # between fork and exec a child has its parent's command line
            member.about = self._about(stat)
        python, worker, path, _ = member.about
        if not worker and stat.parent in self._members and self._members[stat.parent].about[1]:
            worker = 2
            member.about = (python, worker, *member.about[2:])
        threads: tuple[Thread, ...] | None = None
        used = stat.cpu_s - member.cpu_s
        if stat.state in "ZX":  # the dead have no threads, but what one without threads used is its main thread's
            if member.most_threads <= 1 < member.samples:
                threads = (Thread(stat.pid, stat.start, stat.name, stat.cpu_s),)
        elif everything or member.cpu_s < 0 or used > _BUSY_SHARE * (now - member.time):
            threads = self._threads(stat)
        if threads is not None:
            member.cpu_s, member.time = stat.cpu_s, now
        waited_s = None if threads is None or worker else self._waited(stat.pid)
        return stat._replace(threads=threads, python=python, worker=worker, path=path, waited_s=waited_s)

    def _waited(self, pid: int) -> float | None:
        words = read_bytes(self.proc, f"{pid}/schedstat", 128).split()
        return int(words[1]) / 1e9 if len(words) == 3 and words[1].isdigit() else None

    def _threads(self, stat: Seen) -> tuple[Thread, ...]:
        folder = f"{stat.pid}/task"
        tids = [str(stat.pid)]
        if stat.thread_count > 1:
            try:
                tids = os.listdir(f"{self.proc}/{folder}")  # noqa: PTH208
            except OSError:
                return ()
        read = [read_stat(self.proc, f"{folder}/{tid}/stat") for tid in tids]
        return tuple(Thread(s.pid, s.start, s.name, s.cpu_s) for s in read if s is not None)

    def _about(self, stat: Seen) -> tuple[bool, int, str, bytes]:
        line = read_bytes(self.proc, f"{stat.pid}/cmdline", 4096)
        words = line.split(b"\0")
        program = os.fsdecode(words[0])
        python = bool(PYTHON.match(os.path.basename(program)) or PYTHON.match(stat.name))  # noqa: PTH119
        parent = self._members.get(stat.parent)
        worker = stat.name.startswith("pt_data_worker") or b"--multiprocessing-fork" in words
        if parent is not None and parent.about[0] and line and line == parent.about[3]:
            worker = python = True  # forked, and nothing else was started in it
        return python, int(worker and stat.pid != self.root), program if python else "", line

    def held(self) -> Held:
        """Who holds a GPU's device node open. A process that only asks NVML has no /dev/nvidia-uvm."""
        by_pid: dict[int, tuple[int, ...]] = {}
        denied = False
        for pid in self._members:
            folder = f"{self.proc}/{pid}/fd"
            try:
                names = os.listdir(folder)[:_MAX_FDS]  # noqa: PTH208
            except FileNotFoundError:
                continue
            except OSError:
                denied = True
                continue
            targets = [target for name in names if (target := link_target(f"{folder}/{name}"))]
            minors = [int(match[1]) for target in targets if (match := _NODE.match(target))]
            most = max((minors.count(minor) for minor in set(minors)), default=0)
            if minors and _UVM in targets:  # every process opens all GPUs once; one with a context opens its own often
                by_pid[pid] = tuple(sorted({minor for minor in minors if 2 * minors.count(minor) > most}))
            elif any(target.startswith(_OTHER_NODES) for target in targets):
                by_pid[pid] = (-1,)
            inherits = self._members[pid].about[1] and self._members[pid].parent in by_pid
            if inherits:  # a forked worker has its parent's files open, and no context
                by_pid.pop(pid, None)
        return Held(by_pid, denied)

    def libraries(self) -> tuple[set[str], bool]:
        """(base names of the CUDA libraries that members have mapped, whether any member could be read)."""
        found: set[str] = set()
        readable = False
        for pid, member in self._members.items():
            if member.about[1]:
                continue  # a worker maps what its parent does
            try:
                with open(f"{self.proc}/{pid}/maps", "rb") as maps:
                    text = maps.read(_MAX_MAPS)
            except OSError:
                continue
            readable = True
            found |= {match[1].decode("ascii", "replace") for match in _LIBRARY.finditer(text)}
        return found, readable

    def world_size(self) -> int | None:
        """The largest number of ranks that a launcher passed to a process of this tree; None if it passed none."""
        found = [
            int(value)
            for pid in self._members
            for variable in read_bytes(self.proc, f"{pid}/environ", _MAX_ENVIRON).split(b"\0")
            for name, _, value in [variable.partition(b"=")]
            if name in _JOB_SIZES and value.isdigit() and len(value) < 8
        ]
        return max(found, default=None)
