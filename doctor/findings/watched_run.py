"""What set the pace of a watched run: the GPU's work, a kernel that waits, copies, the disk, loader workers, cores.

NVML's utilisation alone proves nothing: it counts the time with a kernel on the GPU, also of one that spins. Power, the
SMs' activity (GPM), memory and links are judged with it.
"""

from __future__ import annotations

from typing import NamedTuple

from ..snapshot import Load, Measured, Watch, known
from .pace import Pace

BUSY_PERCENT, IDLE_PERCENT = 80.0, 50.0
"""Of the GPU: from the first on it sets the pace where that is work, below the second it waits."""
ONE_CORE = 0.85
"""Mean use of a core, from which on a thread is at its end: it also waits now and then."""
WORKERS_FULL = 0.8
_DISK_PERCENT = 20.0
_KEPT_PERCENT = 10.0
"""Share of the time without the core that it wanted, from which on that is a cause."""
_SLEEPS_CORES, _NOTHING = 0.1, 1.0
"""Cores, and percent of a GPU's time, below which a program does nothing."""
_SLEEPS_PERCENT = 50.0
"""Share of the time in which it does nothing, from which on that is what it does: it imported before."""
SHORT_S = 2.0
"""A program that is watched for less may not have come to its GPU part."""
STOPPED_S = 30.0
"""The same for one that a signal ended: imports and loading of a model may take that long."""
FED_BY_WORKERS, _WAITS_FOR_THEM = 0.4, 0.5
"""Cores of each loader worker, and of the main process: beyond the first and below the second it waits for them."""
FED_TOGETHER, ACCOUNTED = 1.5, 0.85
"""Cores of all workers together, and time of the GPU and the main process together (as a share): beyond the first and
below the second it waits for them too, however small each one's part is."""
WORK_POWER, _STILL_POWER, _IDLE_POWER = 0.25, 0.15, 0.1
"""Share of the way from idle to the limit: from the first on a kernel works, below the third it does nothing; below the
second neither, where that is all there is to judge by."""
WORK_MEMORY, WORK_TENSOR, _WORK_SM = 25.0, 5.0, 25.0
"""Percent from which on the memory, the tensor cores, the SMs are at work."""
POLLING_SM = 45.0
"""Percent of the SMs that kernels which poll may hold: NCCL's 32 channels are a quarter of an H100's, two fifths of an
H20's."""
_ALWAYS_PERCENT, _ALWAYS_MEAN = 95.0, 98.0
"""A kernel that waits leaves no gap: at least this share of the samples at 99 %; that mean, where only it is known."""
_UNEVEN, _UNEVEN_SM = 0.25, 2.0
"""Deviation of the SMs' activity, as a share of its mean and in percent of the SMs: above both, kernels come and go."""
_POLLS_MEMORY, _POLLS_TENSOR = 5.0, 1.0
"""Percent of the memory and of the tensor cores that a kernel which only polls stays below."""
FULL_LINK, _USED_LINK, _IN_TURN = 70.0, 30.0, 85.0
"""Percent of a PCIe link's rate: nearly full; used; with the kernels' time, all of the time."""
_PINNED_LINK = 88.0
"""Percent of a PCIe link's rate that copies from pinned memory reach: 55.1 of 63.0 GB/s on an H100 (generation 5, 16
lanes), the same on generations 3 and 4 (pcie.json)."""
_COPYING_LINK, _SLOW_LINK = 0.1 * _PINNED_LINK, 2 / 3 * _PINNED_LINK
"""From the first on, a busy main thread is busy with copies; below the second, pinned memory or larger copies help."""
EXCHANGE_MB_S = 50_000.0
"""Over NVLink: from here on the kernels that do little else exchange data between GPUs."""
_LANE_MB_S = {1: 250.0, 2: 500.0, 3: 985.0, 4: 1969.0, 5: 3938.0, 6: 7563.0}
"""One PCIe lane in one direction, by generation."""


class Watched(NamedTuple):
    """What bound a watched run; `reason` is a sentence. disk: it waited for a disk; turns: GPU and host worked in turn;
    pauses: neither had much to do; alone: it used no GPU; slow_copies: pinned memory carries far more; ranks: its
    kernels may wait for other GPUs."""

    bound: Pace
    reason: str
    disk: bool = False
    turns: bool = False
    pauses: bool = False
    alone: bool = False
    slow_copies: bool = False
    ranks: bool = True


def watched(m: Measured, w: Watch) -> Watched:
    """GPU and copies first (a waiting thread may spin on a core), then disk, loader workers, the main thread."""
    busy = known(w.gpu_busy_percent)
    if known(w.uses_gpu) is False:
        return _host(w, "it used no GPU", alone=True)._replace(alone=True)
    if not known(w.uses_gpu) or busy is None:
        return Watched("unknown", "how busy its GPU was is unknown")
    loads = [load for load in known(m.loads) or () if load.phase == "watch" and load.key in w.gpu_keys]
    share = f"the GPU was busy {busy:.0f} % of the time"
    others = known(w.others_on_gpu)
    if busy >= BUSY_PERCENT and w.gpu_busy_by == "device" and others:
        return Watched("unclear", f"{share}, but other programs used it too")
    copies = _copies(w, loads, share, busy)
    if copies and others:  # the link is counted for all of them, and a thread that does nothing copies nothing
        words = f"{copies.reason}; other programs use the GPU too, and the copies may be theirs"
        copies = Watched("unclear", words) if (known(w.main_cores) or 0.0) >= _SLEEPS_CORES else None
    full = [load for load in loads if (known(load.utilization_percent) or 0.0) >= BUSY_PERCENT]
    if busy < BUSY_PERCENT and full and len(full) < len(loads):
        return _resident(
            w,
            full,
            f"{len(full)} of its {len(loads)} GPUs had a kernel running nearly all the time, the others rarely",
            copies,
        )
    if busy >= BUSY_PERCENT:
        return _resident(w, loads, share, copies)
    if copies is not None:
        return copies
    return _in_turn(w, share) if busy >= IDLE_PERCENT else _host(w, share, sleeps=busy < _NOTHING)


def _in_turn(w: Watch, share: str) -> Watched:
    """Kernels with gaps between them, which one thread may be too slow to fill."""
    thread = known(w.busiest_thread)
    thread = known(w.main_cores) if thread is None else thread
    if thread is None:
        return Watched("unclear", f"{share}; how busy its CPU cores were is unknown")
    if thread < ONE_CORE:
        return Watched("unclear", f"{share}: neither the GPU nor the host alone is the limit", turns=True)
    return Watched("launches", f"{share}, with gaps between kernels, and one thread used {thread:.1f} cores")


def _resident(w: Watch, loads: list[Load], share: str, copies: Watched | None) -> Watched:
    """A kernel was on the GPU nearly all the time: does it work, wait, or come and go?"""
    loads = [load for load in loads if (known(load.utilization_percent) or 0.0) >= IDLE_PERCENT] or loads
    states = [(load, working(load)) for load in loads]
    waiting = [load for load, works in states if works is False]
    working_ones = [load for load, works in states if works]
    if copies is not None and not working_ones:
        return copies
    if waiting:
        words = f"{share}, but did little: {_evidence(waiting[0])}"
        nvlink = max((known(load.nvlink_mb_s) or 0.0 for load in waiting), default=0.0)
        if nvlink >= EXCHANGE_MB_S and not working_ones:
            return Watched("copies", f"{words}; its kernels moved {nvlink / 1000:.0f} GB/s over NVLink")
        if working_ones:
            some = f"{len(waiting)} of its {len(states)} GPUs waited inside a kernel"
            return Watched("waiting", f"{some} ({_evidence(waiting[0])}), while {working_ones[0].key} was working")
        if not any(stays(load) for load in waiting):
            return _in_turn(w, words)
        return Watched("waiting", words, ranks=_ranks(w))
    if working_ones:
        return Watched("gpu", f"{share}, at {_evidence(working_ones[0])}")
    if loads and all(has_gaps(load) or _is_uneven(load) for load in loads):
        return _in_turn(w, share)
    unseen = "it is unclear whether its kernels were working or only waiting"
    return Watched("unclear", f"{share}; {unseen}: neither its power draw nor its SM activity shows it")


def working(load: Load) -> bool | None:
    """Whether kernels that were on a GPU did work there, by everything but utilisation; None: that is not decided."""
    power = _power_share(load)
    sm, tensor = known(load.sm_activity_percent), known(load.tensor_activity_percent)
    memory = known(load.memory_activity_percent)
    memory = known(load.memory_busy_percent) if memory is None else memory
    if (memory or 0.0) >= WORK_MEMORY or (tensor or 0.0) >= WORK_TENSOR:
        return True
    if power is not None and power >= WORK_POWER:
        return True
    few = sm is not None and (sm < _WORK_SM or (sm < POLLING_SM and stays(load)))
    if power is None:
        return None if sm is None else not few
    return False if few or power < (_STILL_POWER if sm is None else _IDLE_POWER) else None


def has_gaps(load: Load) -> bool:
    """Whether there were times without a kernel. Of a mean alone it counts what is far below 100."""
    full = known(load.utilization_full_percent)
    if full is not None:
        return full < _ALWAYS_PERCENT
    return (known(load.utilization_percent) or 100.0) < _ALWAYS_MEAN


def stays(load: Load) -> bool:
    """Whether one kernel that only polls was there all the time: no gap, the same SMs, hardly any memory."""
    if has_gaps(load) or _is_uneven(load):
        return False
    memory = known(load.memory_activity_percent)
    memory = known(load.memory_busy_percent) if memory is None else memory
    return (memory or 0.0) < _POLLS_MEMORY and (known(load.tensor_activity_percent) or 0.0) < _POLLS_TENSOR


def _is_uneven(load: Load) -> bool:
    """Whether the SMs' activity went up and down: kernels come and go."""
    sm, spread = known(load.sm_activity_percent), known(load.sm_activity_spread_percent)
    return sm is not None and (spread or 0.0) > max(_UNEVEN_SM, _UNEVEN * sm)


def _ranks(w: Watch) -> bool:
    """Whether NCCL is there, or may be (some programs carry it inside): its kernels wait for other GPUs."""
    libraries = known(w.libraries)
    return (known(w.world_size) or 1) > 1 or libraries is None or any(name.startswith("libnccl") for name in libraries)


def _power_share(load: Load) -> float | None:
    """How far the power went from idle (0) to the limit (1) while a kernel was there."""
    power, limit, idle = known(load.power_w), known(load.power_limit_w), known(load.power_idle_w)
    if power is None or not limit:
        return None
    if idle is None or idle >= limit:
        idle = min(20.0 + 0.1 * limit, power)  # a GPU with a context and nothing to do, roughly
    busy = (known(load.utilization_percent) or 100.0) / 100
    return max(0.0, power - idle) / max(busy, 0.5) / max(limit - idle, 1.0)


def _evidence(load: Load) -> str:
    """`128 of 700 W, 2 % of the SMs active`."""
    power, limit = known(load.power_w), known(load.power_limit_w)
    sm, memory = known(load.sm_activity_percent), known(load.memory_activity_percent)
    moved = known(load.memory_busy_percent) if memory is None else None
    words = [
        f"{power:.0f} of {limit:.0f} W" if power is not None and limit else "",
        f"{sm:.0f} % of the SMs active" if sm is not None else "",
        f"{memory:.0f} % of the memory's bandwidth" if memory is not None else "",
        f"its memory busy {moved:.0f} % of the time" if moved is not None else "",
    ]
    return ", ".join(word for word in words if word)


def link_percent(load: Load) -> float | None:
    """How full its PCIe link was in the busier direction; None if rate or link is not known."""
    lane, width = _LANE_MB_S.get(known(load.pcie_gen) or 0), known(load.pcie_width)
    rates = [rate for rate in (known(load.pcie_rx_mb_s), known(load.pcie_tx_mb_s)) if rate is not None]
    return min(100.0, 100 * max(rates) / (lane * width)) if rates and lane and width else None


def _copies(w: Watch, loads: list[Load], share: str, busy: float) -> Watched | None:
    """A link that is nearly full, in use whenever no kernel is, or kept in use by a main thread that does nothing else.

    Drivers differ in whether utilization counts copies: 580 does on an H100 (99 % for copies alone), others do not.
    """
    fullest = max(loads, key=lambda load: link_percent(load) or 0.0, default=None)
    percent = link_percent(fullest) if fullest is not None else None
    if fullest is None or percent is None:
        return None
    link = f"its PCIe link (generation {known(fullest.pcie_gen)}, {known(fullest.pcie_width)} lanes)"
    if percent >= FULL_LINK:
        return Watched("copies", f"{share}, and {link} was {percent:.0f} % full")
    if busy < BUSY_PERCENT and percent >= _USED_LINK and percent + busy >= _IN_TURN:
        words = f"{share}, and {link} carried {percent:.0f} % of its maximum: computation and transfers take turns"
        return Watched("copies", words, slow_copies=percent < _SLOW_LINK)
    main = known(w.main_cores) or 0.0
    if busy < IDLE_PERCENT and percent >= _COPYING_LINK and main >= ONE_CORE and not loader_at_limit(w):
        words = f"{share}, and {link} carried {percent:.0f} % of its maximum, from a thread that did nothing else"
        return Watched("copies", words, slow_copies=percent < _SLOW_LINK)
    return None


def ended_early(w: Watch) -> str:
    """How the run ended before it may have come to its GPU part; empty if it did not."""
    if code := known(w.exit_code):
        return f"ended with exit code {code}"
    if known(w.signal) is not None and w.seconds < STOPPED_S:
        return "was stopped early"
    return "was not watched long enough" if w.seconds < SHORT_S else ""


def loader_at_limit(w: Watch) -> bool:
    """Whether the loader's workers use nearly all the cores that they could."""
    workers, used, cores = known(w.workers) or 0, known(w.workers_cores), known(w.cores)
    return bool(workers) and used is not None and used >= WORKERS_FULL * min(workers, cores or workers)


def _waits_for_workers(w: Watch, main: float) -> bool:
    """Whether the main process, which uses `main` cores, waits for loader workers that are not at their limit."""
    workers, used = known(w.workers) or 0, known(w.workers_cores) or 0.0
    if not workers or main >= _WAITS_FOR_THEM:
        return False
    accounted = main + (known(w.gpu_busy_percent) or 0.0) / 100
    return used >= FED_BY_WORKERS * workers or (used >= FED_TOGETHER and accounted < ACCOUNTED)


def _host(w: Watch, waits: str, alone: bool = False, sleeps: bool = False) -> Watched:
    """What the host waits for, or does. alone: no GPU is in use; sleeps: the GPU had nothing to do."""
    main = known(w.main_cores)
    if main is None and not known(w.workers):
        main = known(w.busiest_thread)
    workers, worker_cores = known(w.workers) or 0, known(w.workers_cores)
    cores, total = known(w.cores), known(w.cpu_cores)
    blocked, kept = known(w.blocked_percent) or 0.0, known(w.core_wait_percent) or 0.0
    if blocked >= _DISK_PERCENT:
        return Watched(
            "dataloader", f"{waits}; the main thread spent {blocked:.0f} % of the time waiting for disk I/O", True
        )
    full = loader_at_limit(w)
    if main is not None and main >= ONE_CORE and (alone or not full):
        return Watched("cpu", f"{waits}, and its process continuously used {main:.1f} cores")
    if full:
        words = f"{waits}; its {workers} loader worker{'s' * (workers != 1)} used {worker_cores:.1f} cores"
        less = f", and its main thread waited for a core {kept:.0f} % of the time" if kept >= _KEPT_PERCENT else ""
        return Watched("dataloader", words + less)
    if main is not None and kept >= _KEPT_PERCENT and main + kept / 100 >= ONE_CORE:
        used = f"its process used {main:.1f} cores and waited for a core {kept:.0f} % of the time"
        return Watched("cpu", f"{waits}; {used} (other programs or a CPU quota took the rest)")
    stuck = known(w.workers_blocked_percent) or 0.0
    if workers and stuck >= _DISK_PERCENT:
        return Watched("dataloader", f"{waits}; its loader workers waited for a disk {stuck:.0f} % of the time", True)
    if not alone and _waits_for_workers(w, main or 0.0):
        return Watched(
            "dataloader", f"{waits}; its {workers} loader worker{'s' * (workers != 1)} used {worker_cores:.1f} cores"
        )
    if total is not None and cores and total >= WORKERS_FULL * cores:
        return Watched("cpu", f"{waits}, and all of its {cores:g} cores were in use")
    if main is None and total is None:
        words = "how busy its CPU cores were is unknown"
        return Watched("unknown" if alone else "unclear", f"{waits}; {words}")
    early = ended_early(w) if w.seconds < STOPPED_S else ""
    if early:
        return Watched("unclear", f"{waits}; it {early}")
    idle = (total if total is not None else main or 0.0) < _SLEEPS_CORES
    idle = idle or (known(w.cpu_idle_percent) or 0.0) >= _SLEEPS_PERCENT
    if (alone or sleeps) and idle and kept < _KEPT_PERCENT:
        return Watched(
            "sleep", f"{waits}, and it used hardly any CPU time while it waited for something else", pauses=True
        )
    neither = "neither its main process nor its loader workers were at their limit"
    return Watched("unclear", f"{waits}; {neither}", pauses=True)
