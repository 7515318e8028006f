"""Fixes for faulty or slow transfers between GPUs."""

from __future__ import annotations

from ..findings import Fix
from ..snapshot import Snapshot
from .gpu_state import elsewhere
from .speed import AGAIN, here, measured_again
from .where import container_kind, on_host


def of_pairs(s: Snapshot) -> tuple[Fix, ...]:
    """For a pair that copies directly: train without peer-to-peer, and repair the path."""
    step = on_host(
        s,
        "Turn ACS and the IOMMU off in the firmware; nvidia-smi nvlink --status and the kernel log "
        "(Xid) show whether a link is down.",
        "",
        dict(AGAIN),
        needs_root=False,
    )
    repair = Fix(id="repair-p2p", title="Repair the path between the GPUs", steps=(step,))
    return (
        here(
            "train-without-p2p",
            "Train without peer-to-peer until it is repaired",
            "NCCL then passes data through host memory, which is slower. Check that its all-reduce is correct this way "
            "before you rely on it.",
            "export NCCL_P2P_DISABLE=1 && gpudoctor prove --quick",
        ),
        *(measured_again((elsewhere(s),)) if container_kind(s) else ()),
        repair,
    )
