"""What a watched process tree does with the GPUs, from NVML's samples and from the device nodes it holds open. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from ..snapshot.fact import Missing
from ..snapshot.measured import Load
from .loads import LoadSum, mib
from .samples import Sample
from .watch_proc import Held

ENOUGH = 3
"""Samples without a process, after which NVML's word counts that it has no context."""
_MOST_WAITING = 100
"""Samples since NVML last told processes apart: it is asked at each fourth, or has no answer at all."""
_CLOSED = Missing("absent", "it uses no GPU")
_UNTOLD = Missing("absent", "NVML does not report it")


class Used(NamedTuple):
    """The fields of `Watch` about the GPU."""

    uses_gpu: bool | Missing
    gpu_keys: tuple[str, ...] = ()
    gpu_first_seen_s: float | Missing = _CLOSED
    gpu_memory_max_mib: float | Missing = _CLOSED
    gpu_busy_percent: float | Missing = _CLOSED
    gpu_busy_by: Literal["process", "device"] | None = None
    gpu_idle_percent: float | Missing = _CLOSED
    others_on_gpu: int | Missing = _CLOSED
    h2d_mb_s: float | Missing = _CLOSED


class _Gpu:
    """One GPU since the tree was first seen on it (or since the start, where it was not)."""

    def __init__(self, key: str, since: float) -> None:
        self.key = key
        self.load = LoadSum(key)
        self.since = self.until = since
        self.memory = 0
        self.device = _Share()
        self.process = _Share()
        self.ours_noted = False
        """NVML named a process of the tree among those that ran kernels."""
        self.part = 1.0
        """Of the device's work, what was the tree's when NVML last told processes apart."""
        self.waiting: list[int] = []
        """The device's utilisation since then."""

    def take(self, sample: Sample, pids: set[int]) -> None:
        self.until = sample.time
        self.load.pids = pids
        self.load.add(sample)
        if sample.utilization is not None:
            self.device.add(sample.utilization)
            self.waiting.append(sample.utilization)
        noted = sample.process_utilization
        if noted is None:
            self.waiting = self.waiting[-_MOST_WAITING:]
            return
        ours = sum(percent for pid, percent in noted if pid in pids)
        everybody = sum(percent for _, percent in noted)
        self.ours_noted = self.ours_noted or any(pid in pids for pid, _ in noted)
        if everybody:
            self.part = ours / everybody
        for whole in self.waiting or [min(everybody, 100)]:
            self.process.add(whole * self.part)
        self.waiting = []


class _Share:
    """Mean of percentages, and how many of them were nothing."""

    def __init__(self) -> None:
        self.total = 0.0
        self.count = self.idle = 0

    def add(self, percent: float) -> None:
        self.total += percent
        self.count += 1
        self.idle += percent == 0


class GpuSum:
    """Take every sample and every look at the open files, then ask.

    own_numbers: whether the numbers that NVML has for processes are those of our process namespace (in a container
    they may be the host's); nodes: whether this machine has a GPU's device node at all.
    """

    def __init__(self, start: float, own_numbers: bool, nodes: bool) -> None:
        self.start = start
        self._own_numbers = own_numbers
        self._nodes = nodes
        self._all: dict[str, _Gpu] = {}
        self._ours: dict[str, _Gpu] = {}
        self._minors: dict[int, str] = {}
        self._listed: dict[str, set[int]] = {}
        """By key the processes of the tree that NVML listed there."""
        self._lists = self._lists_since_held = 0
        self._memory_now: dict[str, int] = {}
        self._memory_max: int | None = None
        self._first_s: float | None = None
        self._looked = self._denied = False
        self._held: dict[int, tuple[int, ...]] = {}
        self._has_number = False

    def number(self, minor: int, key: str) -> None:
        """The GPU behind /dev/nvidiaN."""
        self._minors[minor] = key

    def hold(self, time: float, held: Held) -> None:
        """A look at the open device nodes."""
        self._looked = True
        self._denied = self._denied or held.denied
        self._held = held.by_pid
        if held.by_pid:
            self._has_number = self._has_number or any(minor >= 0 for m in held.by_pid.values() for minor in m)
            self._seen(time)
            for key in self._held_keys():
                self._ours.setdefault(key, _Gpu(key, time))

    def _held_keys(self) -> list[str]:
        minors = {minor for several in self._held.values() for minor in several}
        found = [self._minors[minor] for minor in sorted(minors) if minor in self._minors]
        return found or (list(self._all) if len(self._all) == 1 else [])

    def take(self, sample: Sample, pids: set[int]) -> None:
        """A sample of NVML; `pids`: the processes of the tree then."""
        self._all.setdefault(sample.key, _Gpu(sample.key, self.start)).take(sample, pids)
        memory = sample.listed(pids)
        if memory and not self._own_numbers and not any(pid in self._held for pid in pids):
            memory = []  # the number of some other process outside
        if sample.processes is not None:
            self._lists += 1
            self._lists_since_held += bool(self._held)
        if memory:
            listed = {pid for pid, _ in sample.processes or () if pid in pids}
            self._listed[sample.key] = listed | (self._listed.get(sample.key, set()) & pids)
            self._seen(sample.time)
            self._ours.setdefault(sample.key, _Gpu(sample.key, sample.time))
        if sample.processes is not None:
            self._remember(sample.key, memory)
        if sample.key in self._ours:
            self._ours[sample.key].take(sample, pids)

    def _remember(self, key: str, memory: list[int | None]) -> None:
        self._memory_now[key] = sum(count for count in memory if count is not None)
        if any(count is not None for count in memory):
            self._memory_max = max(self._memory_max or 0, sum(self._memory_now.values()))

    def _seen(self, time: float) -> None:
        if self._first_s is None:
            self._first_s = max(0.0, time - self.start)

    @property
    def decided(self) -> bool:
        """Whether NVML itself shows the tree on a GPU: its open files need no further look."""
        return bool(self._listed) and self._own_numbers

    def holders(self) -> set[int]:
        """Processes that have a context, as far as that can be told."""
        return set().union(*self._listed.values()) if self._listed else set(self._held)

    def _chosen(self) -> Mapping[str, _Gpu]:
        return {key: self._ours[key] for key in self._listed} if self._listed else self._ours

    def uses_gpu(self) -> bool | Missing:
        """Whether the tree has a context on a GPU."""
        if self._listed:
            return True
        nvml_separates = self._own_numbers and self._lists >= ENOUGH
        if self._first_s is not None:
            # Native Linux and NVML lists processes, but never this one: cuInit was called, a context was not made.
            return not (nvml_separates and self._has_number and self._lists_since_held >= ENOUGH)
        if nvml_separates or not self._nodes or (self._looked and not self._denied):
            return False
        if self._denied:
            return Missing("denied", "its open files cannot be read")
        return Missing("absent", "it exited before it was examined")

    def used(self) -> Used:
        """All that `Watch` says of the GPU."""
        uses = self.uses_gpu()
        if uses is not True:
            why = _CLOSED if uses is False else uses
            return Used(uses, (), why, why, why, None, why, why, why)
        gpus = [gpu for gpu in self._chosen().values() if gpu.load.samples]
        by_process = bool(gpus) and any(gpu.ours_noted for gpu in gpus) and all(gpu.process.count for gpu in gpus)
        shares = [gpu.process if by_process else gpu.device for gpu in gpus]
        count = sum(share.count for share in shares)
        others = [gpu.load.mean("others") for gpu in gpus] if self._listed else []
        percents = [value for value in others if not isinstance(value, Missing)]
        received = [value for gpu in gpus if not isinstance(value := gpu.load.mean("pcie_rx", 1000), Missing)]
        return Used(
            uses_gpu=True,
            gpu_keys=tuple(self._chosen()),
            gpu_first_seen_s=_UNTOLD if self._first_s is None else round(self._first_s, 2),
            gpu_memory_max_mib=_UNTOLD if self._memory_max is None else mib(self._memory_max),
            gpu_busy_percent=round(sum(share.total for share in shares) / count, 1) if count else _UNTOLD,
            gpu_busy_by=("process" if by_process else "device") if count else None,
            gpu_idle_percent=round(100 * sum(share.idle for share in shares) / count, 1) if count else _UNTOLD,
            others_on_gpu=round(max(percents)) if percents else _UNTOLD,
            h2d_mb_s=round(sum(received), 1) if received else _UNTOLD,
        )

    def loads(self) -> tuple[Load, ...]:
        """One for each GPU that the tree used, since it did; where it used none, for all GPUs over the whole time."""
        chosen = self._chosen() if self.uses_gpu() is True else self._all
        found = []
        for gpu in chosen.values():
            if gpu.load.samples:
                if gpu.load.power_idle is None:  # it had no pause since; before, it had nothing to do
                    gpu.load.power_idle = self._all[gpu.key].load.power_idle
                gpu.load.seconds = gpu.until - gpu.since
                found.append(gpu.load.load("watch"))
        return tuple(found)
