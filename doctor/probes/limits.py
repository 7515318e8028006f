"""Limits: control group quotas and the process's own."""

from __future__ import annotations

import re

from ..snapshot import ABSENT, Missing
from .raw import Raw

_V2 = "/sys/fs/cgroup"
_NO_LIMIT = 1 << 60
"""cgroup v1 writes an enormous number where there is no limit."""


def cpu_quota(raw: Raw) -> float | Missing:
    """The smallest quota of this control group and those above it, in cores."""
    found = []
    looked = False
    for folder in _folders(raw, "cpu"):
        text = raw.text(folder + "/cpu.max")
        if isinstance(text, str):
            looked = True
            words = text.split()
            quota, period = (words[0], words[1]) if len(words) == 2 else ("max", "1")
        else:
            first, second = raw.text(folder + "/cpu.cfs_quota_us"), raw.text(folder + "/cpu.cfs_period_us")
            if isinstance(first, Missing) or isinstance(second, Missing):
                continue
            looked = True
            quota, period = first.strip(), second.strip()
        if _digits(quota) and _digits(period) and int(period) > 0:
            found.append(int(quota) / int(period))
    return min(found) if found else _none(raw, looked)


def memory_limit(raw: Raw) -> int | Missing:
    """The smallest memory limit of this control group and those above it, in MiB."""
    found = []
    looked = False
    for folder in _folders(raw, "memory"):
        for leaf in ("/memory.max", "/memory.limit_in_bytes"):
            text = raw.text(folder + leaf)
            if isinstance(text, str):
                looked = True
                if _digits(text.strip()) and int(text) < _NO_LIMIT:
                    found.append(int(text) >> 20)
    return min(found) if found else _none(raw, looked)


def process_limit(raw: Raw, name: str, unit: int) -> int | Missing:
    """A soft limit of /proc/self/limits divided by `unit`; -1 is unlimited."""
    text = raw.text("/proc/self/limits")
    if isinstance(text, Missing):
        return text
    match = re.search(rf"^{re.escape(name)}\s+(unlimited|\d{{1,20}})\s", text, re.M)
    if not match:
        return ABSENT
    return -1 if match.group(1) == "unlimited" else int(match.group(1)) // unit


def _folders(raw: Raw, controller: str) -> list[str]:
    base = [_V2, f"{_V2}/{controller}"]
    text = raw.text("/proc/self/cgroup")
    for line in text.splitlines()[:64] if isinstance(text, str) else []:
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if names == "" or controller in names.split(","):
            top = _V2 if names == "" else f"{_V2}/{controller}"
            parts = [part for part in path.split("/") if part][:32]
            base += [top + "".join(f"/{p}" for p in parts[: n + 1]) for n in range(len(parts))]
    return base


def _none(raw: Raw, looked: bool) -> Missing:
    if looked:
        return Missing("absent", "no limit")
    return raw.unasked if raw.unasked.reason == "timeout" else Missing("absent", "no control group limits here")


def _digits(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 25
