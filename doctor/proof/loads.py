"""What NVML's sampler saw, put to the phases of a proof: pure, from lines to `Load`s and to facts of a process.

    samples = parse_samples(lines of nvml_sampler)
    loads_of(samples, parse_phases(lines of all agents))      -> tuple[Load, ...], one for each GPU and phase name
    process_on_gpu(samples, key, pid, start, end, visible)    -> OnGpu: is that process seen there, with how much memory

A sample line is {"sample": {...}} with the fields of `Sample`; a phase line is {"phase": "matmul", "device": "cuda:0",
"key": "GPU-...", "start": t0, "end": t1}. All times are time.monotonic() of this machine. `LoadSum` is the same sum
for samples that come one by one and are not kept (`watch`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..snapshot.fact import NOT_ASKED, Missing
from ..snapshot.measured import MEAN_OF_S, Load
from .samples import Sample

REASONS = {
    "idle": 0x1, "clocks-setting": 0x2, "power-cap": 0x4, "hw-slowdown": 0x8, "sync-boost": 0x10, "sw-thermal": 0x20,
    "hw-thermal": 0x40, "power-brake": 0x80,
}  # fmt: skip
"""NVML's bits of the clock event reasons (nvmlClocksEventReasons)."""
_MEANS = (
    "utilization", "memory_utilization", "power_draw", "power_limit", "clock_sm", "clock_memory", "pcie_rx", "pcie_tx",
    "nvlink_rx", "nvlink_tx", "sm_activity", "tensor_activity", "memory_activity",
)  # fmt: skip
_CLOCKS = ("clock_sm", "clock_memory")
FULL_PERCENT = 99
"""Percent of utilisation from which on a sample has no gap between kernels: NVML rounds."""
_ACTIVITY = _MEANS[_MEANS.index("pcie_rx") :]
"""What only a sampler that was started with --watch asks for."""
SETTLE_S = 0.25
"""NVML's utilisation is a mean over up to a second: the first samples of a phase still tell of what was before."""
_ABSENT = Missing("absent", "NVML does not report it")
_UNSEEN = Missing("denied", "NVML does not show the processes of this container")


class Phase(NamedTuple):
    """A time in which one device was at work. `key` is empty if the agent could not tell the GPU."""

    name: str
    key: str
    start: float
    end: float


class OnGpu(NamedTuple):
    """One process on one GPU during some time."""

    seen: bool | Missing
    memory_max_mib: float | Missing
    utilization_max_percent: float | Missing
    """The device's highest, all processes together."""
    others: int | Missing
    """Processes that are not it, at most."""


def parse_phases(lines: Iterable[Mapping[str, Any]]) -> list[Phase]:
    """All phases among these lines; one that ends before it starts, or never, is omitted."""
    found = []
    for line in lines:
        name, key, start, end = (line.get(word) for word in ("phase", "key", "start", "end"))
        if not isinstance(name, str) or not isinstance(start, (int, float)) or not isinstance(end, (int, float)):
            continue
        if 0 <= start <= end < 1e12:
            found.append(Phase(name, key if isinstance(key, str) else "", float(start), float(end)))
    return found


def loads_of(samples: Sequence[Sample], phases: Sequence[Phase], pids: Iterable[int] = ()) -> tuple[Load, ...]:
    """What each GPU showed in the phases of each name, in order of the phases.

    `pids`: our own processes, where they are known; the others' number is told only then. Without any sample in them
    phases have no `Load`. A phase without a key belongs to the machine's only GPU.
    """
    keys = {sample.key for sample in samples}
    ours = frozenset(pids)
    sums: dict[tuple[str, str], LoadSum] = {}
    for phase in phases:
        key = phase.key or (next(iter(keys)) if len(keys) == 1 else "")
        inside = [s for s in samples if s.key == key and phase.start <= s.time <= phase.end]
        settled = [s for s in inside if s.time >= phase.start + SETTLE_S]
        total = sums.setdefault((key, phase.name), LoadSum(key, ours, activity=False))
        total.seconds += phase.end - phase.start
        for sample in settled or inside:
            total.add(sample)
    return tuple(total.load(name) for (_, name), total in sums.items() if total.samples)


def process_on_gpu(
    samples: Sequence[Sample], key: str, pid: int, start: float, end: float, visible: bool | None = None
) -> OnGpu:
    """A process on the GPU of this key between two times. `visible`: whether NVML's process numbers are those of this
    process namespace; where they are not (containers), a process that is not listed proves nothing."""
    inside = [s for s in samples if s.key == key and start <= s.time <= end]
    lists = [s for s in inside if s.processes is not None]
    busy = [s.utilization for s in inside if s.utilization is not None]
    gap = _ABSENT if inside else Missing("absent", "no NVML sample in that time")
    if not lists:
        return OnGpu(gap, gap, float(max(busy)) if busy else gap, gap)
    mine = [memory for sample in lists for memory in sample.listed((pid,))]
    used = [memory for memory in mine if memory is not None]
    return OnGpu(
        seen=True if mine else False if visible else _UNSEEN,
        memory_max_mib=mib(max(used)) if used else _ABSENT if mine or visible else _UNSEEN,
        utilization_max_percent=float(max(busy)) if busy else gap,
        others=max(len([p for p, _ in s.processes or () if p != pid]) for s in lists) if mine or visible else _UNSEEN,
    )


def mib(count: int) -> float:
    """Bytes as MiB."""
    return round(count / (1 << 20), 1)


class LoadSum:
    """Sums over the samples of one GPU: they come one by one, and none is kept."""

    def __init__(self, key: str, pids: Any = (), activity: bool = True) -> None:
        self.key = key
        self._no_activity = _ABSENT if activity else NOT_ASKED
        """Why the SMs, the links and the memory show no activity. `prove` does not ask: it knows what it runs."""
        self.pids = pids
        """Our processes: a container of numbers, read at each sample. Empty: not known."""
        self.seconds = 0.0
        self.samples = 0
        self.power_idle: int | None = None
        """Milliwatts: the least of the samples with nothing to do. Where NVML tells only the mean of a second, those
        soon after work do not count: the mean still holds some of it."""
        self._quiet_since: float | None = None
        self._sums: dict[str, tuple[float, int]] = {}
        self._most: dict[str, int] = {}
        self._full = self._instants = 0
        self._sm_squares = 0.0
        self._reasons = dict.fromkeys(REASONS, 0)
        self._reason_samples = 0
        self._ours_listed = False

    def add(self, sample: Sample) -> None:
        """Take one sample."""
        self.samples += 1
        if sample.utilization:
            self._quiet_since = None
        elif sample.utilization == 0:
            quiet_s = sample.time - (sample.time if self._quiet_since is None else self._quiet_since)
            self._quiet_since = sample.time - quiet_s
            if sample.power_draw is not None and (sample.power_instant or quiet_s >= MEAN_OF_S):
                self.power_idle = min(sample.power_draw, self.power_idle or sample.power_draw)
        pauses = sample.utilization == 0
        if sample.clock_event_reasons is not None:
            pauses = bool(sample.clock_event_reasons & REASONS["idle"])
        for name in _MEANS:
            value = getattr(sample, name)
            if value is not None:
                kind = f"idle {name}" if pauses and name in _CLOCKS else name
                total, count = self._sums.get(kind, (0, 0))
                self._sums[kind] = total + value, count + 1
        self._instants += sample.power_instant
        self._full += sample.utilization is not None and sample.utilization >= FULL_PERCENT
        self._sm_squares += (sample.sm_activity or 0.0) ** 2
        for name in ("utilization", "temperature", "clock_sm_max", "pcie_gen", "pcie_width", "memory_used"):
            value = getattr(sample, name)
            if value is not None:
                self._most[name] = max(value, self._most.get(name, 0))
        if sample.clock_event_reasons is not None:
            self._reason_samples += 1
            for name, bit in REASONS.items():
                self._reasons[name] += bool(sample.clock_event_reasons & bit)
        if sample.processes is not None and self.pids:
            others = len([pid for pid, _ in sample.processes if pid not in self.pids])
            self._ours_listed = self._ours_listed or others < len(sample.processes)
            total, count = self._sums.get("others", (0, 0))
            self._sums["others"] = total + others, count + 1

    def mean(self, name: str, scale: float = 1.0) -> float | Missing:
        """Mean over the samples that had it, divided by `scale`."""
        total, count = self._sums.get(name, (0, 0))
        return round(total / count / scale, 3) if count else self._no_activity if name in _ACTIVITY else _ABSENT

    def _clock(self, name: str) -> float | Missing:
        """Mean over the samples with work, and over all where none had work: a board that is idle lowers its clocks."""
        return self.mean(name if name in self._sums else f"idle {name}")

    def full_percent(self) -> float | Missing:
        """Share of the samples without a gap between kernels."""
        count = self._sums.get("utilization", (0, 0))[1]
        return round(100 * self._full / count, 1) if count else _ABSENT

    def spread(self) -> float | Missing:
        """Standard deviation of the SMs' activity."""
        total, count = self._sums.get("sm_activity", (0, 0))
        return (
            round(max(0.0, self._sm_squares / count - (total / count) ** 2) ** 0.5, 3) if count else self._no_activity
        )

    def most(self, name: str) -> int | Missing:
        """The highest."""
        return self._most.get(name, _ABSENT)

    def load(self, phase: str) -> Load:
        """The sum so far. `others` is the usual number, so that one short look of nvidia-smi is not counted; not known
        where none of our own is listed: NVML's numbers are not those of this container then."""
        utilization, memory = self.most("utilization"), self.most("memory_used")
        others = self.mean("others") if self._ours_listed or not self.pids else _UNSEEN
        rates = (self.mean("nvlink_rx", 1000), self.mean("nvlink_tx", 1000))
        nvlink = [rate for rate in rates if not isinstance(rate, Missing)]
        shares = {name: round(100 * count / self._reason_samples, 1) for name, count in self._reasons.items() if count}
        return Load(
            key=self.key,
            phase=phase,
            seconds=round(self.seconds, 3),
            samples=self.samples,
            utilization_percent=self.mean("utilization"),
            utilization_max_percent=utilization if isinstance(utilization, Missing) else float(utilization),
            utilization_full_percent=self.full_percent(),
            memory_busy_percent=self.mean("memory_utilization"),
            sm_activity_percent=self.mean("sm_activity"),
            sm_activity_spread_percent=self.spread(),
            tensor_activity_percent=self.mean("tensor_activity"),
            memory_activity_percent=self.mean("memory_activity"),
            pcie_rx_mb_s=self.mean("pcie_rx", 1000),
            pcie_tx_mb_s=self.mean("pcie_tx", 1000),
            nvlink_mb_s=self._no_activity if not nvlink else round(sum(nvlink), 3),
            power_w=self.mean("power_draw", 1000),
            power_instant=0 < self._instants == self._sums.get("power_draw", (0, 0))[1],
            power_idle_w=_ABSENT if self.power_idle is None else self.power_idle / 1000,
            power_limit_w=self.mean("power_limit", 1000),
            temperature_max_c=self.most("temperature"),
            clock_sm_mhz=self._clock("clock_sm"),
            clock_sm_max_mhz=self.most("clock_sm_max"),
            clock_memory_mhz=self._clock("clock_memory"),
            reasons_percent=shares,
            reasons_samples=self._reason_samples or _ABSENT,
            pcie_gen=self.most("pcie_gen"),
            pcie_width=self.most("pcie_width"),
            memory_used_max_mib=memory if isinstance(memory, Missing) else mib(memory),
            others=others if isinstance(others, Missing) else round(others),
        )
