"""GPUs that work alone cannot pass data to each other.

What is wrong: a copy between two GPUs, or one small all-reduce over all of them, hung, failed or gave wrong values.

How it shows: training on one GPU works; on several it hangs at the first collective, with every GPU at 100 %, or
losses are wrong.

Why it happens: an IOMMU or ACS in the way of peer-to-peer copies, an NVLink or fabric that is not up, a /dev/shm that
is too small, a network interface that NCCL should not take, an NCCL without code for this GPU.

How to fix it: what stands above this finding; else run once with NCCL_DEBUG=INFO and read its last lines, and with
NCCL_P2P_DISABLE=1: if that works, peer-to-peer is the cause.

Source: pairs of GPUs and one all-reduce (NCCL, else gloo) in `gpudoctor prove`; NCCL user guide, troubleshooting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Fix, Policy, Skip
from ..snapshot import Snapshot, known
from ._measured import measured

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="GPUs cannot pass data to each other",
    severity="critical",
    layer="hardware",
    tags=("measured", "multi-gpu"),
    downstream_of=("gpu-path-unused", "gpu-wrong-results", "fabric-manager-not-running", "nvlink-inactive",
                   "p2p-blocked-by-iommu-acs", "nccl-lacks-gpu-arch", "nccl-version-conflict", "nccl-wrong-interface",
                   "shm-too-small", "memlock-limit"),
)  # fmt: skip


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails for the pairs, and for the all-reduce, that hung, failed or gave wrong values."""
    found_by = measured(s)
    pairs, ring = known(found_by.pairs) or (), found_by.collective
    bad = [pair for pair in pairs if known(pair.right) is False or pair.fault not in (None, "skipped")]
    ring_bad = ring and (known(ring.right) is False or ring.fault not in (None, "skipped"))
    if not bad and not ring_bad:
        if not any(known(pair.right) for pair in pairs) and not (ring and known(ring.right)):
            raise Skip("no data was passed between GPUs")
        return
    if bad:
        first = bad[0]
        how = "arrives damaged" if known(first.right) is False else f"{_FAULT[first.fault or 'failed']}"
        others = f" and {len(bad) - 1} other pair{'s' * (len(bad) > 2)}" if len(bad) > 1 else ""
        peer = known(first.peer_access)
        direct = "" if peer is None else f" They {'copy' if peer else 'do not copy'} directly (peer access)."
        yield CHECK.fail(
            f"Data from {first.source} to {first.target}{others} {how}", f"{first.error}{direct}".strip(),
            facts={"pairs": [[pair.source, pair.target] for pair in bad], "peer_access": peer},
            subject=f"{first.source}>{first.target}", fixes=_fixes(),
        )  # fmt: skip
    if ring and ring_bad:
        how = "gives wrong values" if known(ring.right) is False else _FAULT[ring.fault or "failed"]
        yield CHECK.fail(
            f"An all-reduce of {ring.ranks} ranks by {ring.backend.upper()} {how}", ring.error,
            facts={"backend": ring.backend, "ranks": ring.ranks, "fault": ring.fault}, subject=ring.backend,
            fixes=_fixes(),
        )  # fmt: skip


_FAULT = {"hang": "does not come to an end", "crash": "kills its process", "failed": "fails", "skipped": "was left out"}


def _fixes() -> tuple[Fix, ...]:
    from ..fixes.speed import here

    return (
        here("without-p2p", "Prove it again without peer-to-peer",
             "If that works, peer-to-peer is the cause: switch ACS and the IOMMU off in the firmware, or keep it so.",
             "NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO gpudoctor prove"),
    )  # fmt: skip
