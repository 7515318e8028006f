"""/dev/shm in the output of `df` and `mount`: how large it is, and whether there is room in it."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_DF = lazy(
    r"(?:^|\s)(?:shm|tmpfs|none|/dev/shm)\s{1,40}(\d{1,12}(?:\.\d{1,2})?)([KMGT]i?)?\s{1,20}\d{1,12}(?:\.\d{1,2})?[KMGT]?i?"
    r"\s{1,20}(\d{1,12}(?:\.\d{1,2})?)([KMGT]i?)?\s{1,20}\d{1,3}%\s{1,8}/dev/shm\s{0,4}$"
)
_MOUNT = lazy(r"\son /dev/shm type tmpfs \(.{0,120}?\bsize=(\d{1,10})k\b")
_UNITS = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0 * 1024}
"""In MiB; df without -h counts KiB."""
_ROOM = 1024
"""MiB with which neither NCCL nor a data loader fails for want of it."""


def read_shm_room(lines: list[Line]) -> Iterator[Statement]:
    """`host.shm_mib`, and `raised.shm-has-room` where every such line tells much that is free."""
    room: Line | None = None
    full = False
    for line in lines:
        text = line.text
        if "/dev/shm" not in text:
            continue
        if found := _DF.search(text):
            yield say("host.shm_mib", int(_mib(found[1], found[2])), line, weak=True)
            if _mib(found[3], found[4]) >= _ROOM:
                room = room or line
            else:
                full = True
        elif mounted := _MOUNT.search(text):
            yield say("host.shm_mib", int(mounted[1]) // 1024, line, weak=True)
    if room and not full:
        yield say("raised.shm-has-room", True, room)


def _mib(number: str, unit: str | None) -> float:
    return float(number) * _UNITS[(unit or "K")[0]]
