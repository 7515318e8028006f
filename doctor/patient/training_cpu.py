"""Part of the agent training_speed: what the CPU gives, alone and under load."""

from __future__ import annotations

import os
import re
import time

from .training_processes import Child, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

OPERATIONS = 4
TURNS = 50000
SINGLE_RUNS = 40
"""Short ones: one of them will have had the core to itself."""
LOAD_S = 0.4
MOST_CORES = 256


def loop(turns: int) -> int:
    """The fixed work. A turn is four operations: the next number, a multiplication, an addition, a mask."""
    total = 0
    for number in range(turns):
        total = (total + number * 3) & 0xFFFF
    return total


def single_core() -> float:
    """Million operations a second, the best of several short runs."""
    best = float("inf")
    for _ in range(SINGLE_RUNS):
        started = time.perf_counter()
        loop(TURNS)
        best = min(best, time.perf_counter() - started)
    return OPERATIONS * TURNS / best / 1e6


def under_load(cores: int) -> Optional[float]:
    """The same on so many cores at once, for LOAD_S seconds of the clock: mean of a core. None where a fork failed."""
    began = time.monotonic() + 0.05 + 0.002 * cores
    children = []
    try:
        for _ in range(cores):
            children.append(Child(loop_until, began, began + LOAD_S))
        found = [line["rate"] for _, line in lines_of(children, began + LOAD_S + 2.0) if "rate" in line]
    except OSError:
        return None
    finally:
        for child in children:
            child.close()
    return sum(found) / len(found) if len(found) == cores else None


def loop_until(say: Callable[..., None], orders: Any, began: float, until: float) -> None:
    """A child: the loop between two moments of the monotonic clock."""
    time.sleep(max(0.0, began - time.monotonic()))
    started, turns = time.monotonic(), 0
    while time.monotonic() < until:
        loop(TURNS // 4)
        turns += TURNS // 4
    say(rate=OPERATIONS * turns / (time.monotonic() - started) / 1e6)


def read(path: str) -> str:
    """A small text file; empty where there is none."""
    try:
        with open(path, errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def cgroup_folders(root: str = "/") -> List[str]:
    """Folders that may hold this process's CPU limit: v2, v1 and both side by side, and the groups above it."""
    top = os.path.join(root, "sys/fs/cgroup")
    found = [top, top + "/cpu", top + "/cpu,cpuacct", top + "/unified"]
    for line in read(os.path.join(root, "proc/self/cgroup")).splitlines()[:64]:
        names, _, path = line.partition(":")[2].partition(":")
        bases = [top, top + "/unified"] if not names else [top + "/" + names, top + "/cpu"]
        parts = [part for part in path.split("/") if part and part != ".."][:32]
        if not names or "cpu" in names.split(","):
            found += [
                base + "".join("/" + part for part in parts[: end + 1]) for base in bases for end in range(len(parts))
            ]
    return list(dict.fromkeys(found))


def quota_cores(root: str = "/") -> Optional[float]:
    """The smallest CPU quota of cgroup v1 or v2, in cores; None where there is none."""
    found = []
    for folder in cgroup_folders(root):
        pair = read(folder + "/cpu.max").split()
        if len(pair) != 2:
            pair = [read(folder + "/" + name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
        if all(re.match(r"\d{1,15}$", word) for word in pair) and int(pair[1]) > 0 and int(pair[0]) > 0:
            found.append(int(pair[0]) / int(pair[1]))
    return min(found) if found else None


def periods(root: str = "/") -> Dict[str, Tuple[int, int]]:
    """Folder to (periods, throttled periods) by its cpu.stat."""
    found = {}
    for folder in cgroup_folders(root):
        stat = dict(re.findall(r"^(nr_periods|nr_throttled) (\d{1,18})$", read(folder + "/cpu.stat"), re.M))
        if len(stat) == 2:
            found[folder] = (int(stat["nr_periods"]), int(stat["nr_throttled"]))
    return found


def throttled_percent(before: Dict[str, Tuple[int, int]], after: Dict[str, Tuple[int, int]]) -> Optional[float]:
    """Share of the periods between two readings that were throttled, of the group that had it worst."""
    shares = [
        100.0 * (after[folder][1] - before[folder][1]) / (after[folder][0] - before[folder][0])
        for folder in before
        if folder in after and after[folder][0] > before[folder][0]
    ]
    return max(shares) if shares else None


def processor(root: str = "/") -> Dict[str, Any]:
    """Model, and MHz now (of the core that is fastest at this moment) and at most, as far as the kernel tells."""
    text = read(os.path.join(root, "proc/cpuinfo"))
    model = re.search(r"^(?:model name|Hardware|cpu model)\s*:\s*(.+)$", text, re.M)
    now = [float(number) for number in re.findall(r"^cpu MHz\s*:\s*(\d{1,6}(?:\.\d+)?)\s*$", text, re.M)]
    folder = os.path.join(root, "sys/devices/system/cpu/cpu0/cpufreq/")
    most, current = read(folder + "cpuinfo_max_freq").strip(), read(folder + "scaling_cur_freq").strip()
    if not now and current.isdecimal():
        now = [int(current) / 1000]
    found: Dict[str, Any] = {"model": model.group(1).strip()[:200]} if model else {}
    if now and max(now) > 0:
        found["mhz"] = round(max(now), 1)
    if most.isdecimal() and int(most) > 0:
        found["mhz_max"] = round(int(most) / 1000, 1)
    return found


def available_cores() -> float:
    """By affinity and quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = quota_cores()
    return float(affinity) if quota is None else min(float(affinity), quota)


def cpu_score(cores: float) -> Dict[str, Any]:
    """The fields of CpuScore but torch's."""
    before = periods()
    row: Dict[str, Any] = {"cores": round(cores, 2), "single_core": round(single_core(), 2)}
    row.update(processor())
    if os.cpu_count():
        row["cores_seen"] = os.cpu_count()
    loaded = under_load(min(MOST_CORES, max(1, -int(-cores // 1)))) if hasattr(os, "fork") else None
    if loaded is not None:
        row["under_load"] = round(loaded, 2)
    throttled = throttled_percent(before, periods())
    if throttled is not None:
        row["throttled_percent"] = round(throttled, 2)
    return row
