"""Part of the agent collective_speed: what NCCL writes of the ways that it chose (NCCL_DEBUG=INFO), in short."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Set

_CHANNEL = re.compile(r"\bChannel \d+(?:/\d+)? : .{1,80}? via (P2P|SHM|NET)(?:/(Socket|IB|[A-Za-z]{2,20}))?")
_SOCKET = re.compile(r"NET/Socket : Using (?:\[\d+\])?([A-Za-z0-9_.-]{1,15}):")
_BOOTSTRAP = re.compile(r"Bootstrap *: Using (?:\[\d+\])?([A-Za-z0-9_.-]{1,15}):")
_IN_NETWORK = re.compile(r"NVLS comm 0x[0-9a-f]+ headRank|Connected NVLS tree")
"""NCCL set up buffers in the switch: it does so once an operation uses them, older versions at the start."""
_MOST = 4 << 20


def begin_log() -> int:
    """Let NCCL write into a file of this process's own, in memory; its descriptor, -1 where the user has it write
    elsewhere, or where that cannot be."""
    if "NCCL_DEBUG" in os.environ or "NCCL_DEBUG_FILE" in os.environ:
        return -1
    try:
        number = os.memfd_create("gpudoctor-nccl")
    except (AttributeError, OSError):
        return -1
    os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_FILE="/proc/self/fd/%d" % number)
    return number


def end_log(number: int) -> Dict[str, Any]:
    """What stands in it so far."""
    return ways(os.pread(number, _MOST, 0).decode("utf-8", "replace"))


def ways(text: str) -> Dict[str, Any]:
    """transports (P2P, SHM, NET/Socket, NET/IB), interfaces of sockets, and whether a switch takes part in sums."""
    transports: Set[str] = set()
    interfaces: List[str] = []
    for line in text.splitlines():
        found = _CHANNEL.search(line)
        if found:
            kind, more = found.groups()
            transports.add("%s/%s" % (kind, more) if kind == "NET" and more else kind)
        for pattern in (_SOCKET, _BOOTSTRAP):
            named = pattern.search(line)
            if named and named.group(1) not in interfaces:
                interfaces.append(named.group(1))
    return {"transports": sorted(transports), "interfaces": interfaces, "in_network": bool(_IN_NETWORK.search(text))}
