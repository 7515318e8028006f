"""NCCL chose a network interface that does not reach the other machines.

What is wrong: NCCL takes the first interface that looks usable. That may be a container bridge or another subnet.

How it shows: a hang or timeout at the start, `Connection refused`, `No route to host`, `Call to connect returned
Connection timed out` after a line `NET/Socket : Using [0]docker0`.

Why it happens: docker0, virbr0 or another bridge exists on all machines, or the machines are on several networks.

How to fix it: name the right interface: NCCL_SOCKET_IFNAME=eth0 (and GLOO_SOCKET_IFNAME).

Judged from NCCL's own log in a pasted text.

Source: NCCL user guide, NCCL_SOCKET_IFNAME.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy, Skip, told
from ..snapshot import Snapshot

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="NCCL uses a network interface that does not reach the peers",
    sound="NCCL uses a network interface that reaches the peers",
    severity="error",
    layer="libraries",
    tags=("multi-gpu", "network"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
