"""Peer-to-peer copies between GPUs hang or give wrong data, because ACS or the IOMMU redirects them.

What is wrong: PCI Access Control Services send traffic between two cards up to the root complex and through the IOMMU.
Peer-to-peer copies then hang, corrupt data or are slow.

How it shows: NCCL hangs at the first collective, `simpleP2P` fails its check, GPUs stay at 100 %; `lspci -vvv` shows
`ACSCtl: SrcValid+ ReqRedir+`.

Why it happens: the firmware turns ACS on together with virtualisation, which is the default on most bare-metal servers.

How to fix it: turn off ACS and the IOMMU in the firmware (bare metal only), or run with NCCL_P2P_DISABLE=1.

Judged from the words of a pasted text; ACS registers need root to be read.

Source: NCCL user guide, troubleshooting, PCI Access Control Services.
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
    title="IOMMU or ACS is in the way of peer-to-peer",
    sound="IOMMU and ACS allow peer-to-peer",
    severity="error",
    layer="hardware",
    tags=("gpu", "multi-gpu"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
