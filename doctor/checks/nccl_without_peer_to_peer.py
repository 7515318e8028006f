"""NCCL passes data through host memory although the GPUs could reach each other directly.

What is wrong: NCCL connected GPUs of this node by shared memory (SHM in its log) while the driver says that they can
read each other's memory. Collectives then go through the processor's memory: a tenth of NVLink's rate.

Symptoms: `via SHM/direct/direct` in NCCL's log, an all-reduce of some GB/s.

Why it happens: NCCL_P2P_DISABLE or a low NCCL_P2P_LEVEL in a start script or /etc/nccl.conf; containers that each see
one GPU only and do not share process namespaces; NCCL's own limit on the distance: it uses peer-to-peer across
processors (SYS) on few machines only.

How to fix it: take the variable away, also from /etc/nccl.conf and ~/.nccl.conf; let one container see all GPUs. Across
processors, NCCL_P2P_LEVEL=SYS tries it: measure again, it may be slower.

Where NVLink joins the two it is a warning; over PCIe alone it is a remark.

Source: NCCL's log (NCCL_DEBUG=INFO) in `gpudoctor prove --links`; NVML's P2P status; NCCL user guide, NCCL_P2P_LEVEL.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..snapshot import Snapshot, known
from ._measured import measured
from ._readings import of_several

CHECK = Check(
    __name__,
    title="NCCL passes data through host memory",
    sound="NCCL passes data directly from GPU to GPU where it can",
    severity="warning",
    layer="libraries",
    tags=("measured", "multi-gpu", "nvlink", "speed"),
    downstream_of=("environment-variable-breaks-cuda", "nvlink-inactive", "fabric-manager-not-running"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns where shared memory stands in for NVLink."""
    groups = [group for group in known(measured(s).link_groups) or () if group.backend == "nccl" and not group.variant]
    if not groups or not groups[0].transports:
        raise of_several(s, "NCCL's choice of links was not seen: gpudoctor prove --links")
    if "SHM" not in groups[0].transports:
        return
    pairs = known(s.gpu_pairs) or ()
    nvlink = any(known(pair.p2p_nvlink) == 0 for pair in pairs)
    if not nvlink and not any(known(pair.p2p_read) == 0 for pair in pairs):
        raise Skip("the driver names no pair of GPUs that reach each other directly")
    from ..fixes.speed import here

    yield (CHECK.warn if nvlink else CHECK.remark)(
        f"NCCL passes data through host memory, though {'NVLink joins' if nvlink else 'PCIe lets'} the GPUs"
        + ("" if nvlink else " reach each other"),
        f"Its log names {', '.join(groups[0].transports)}.",
        facts={"transports": list(groups[0].transports), "nvlink": nvlink},
        fixes=(
            here(
                "nccl-peer-to-peer",
                "Let NCCL use peer-to-peer, and measure again",
                "/etc/nccl.conf and ~/.nccl.conf may set the same variables. If it stays so, the log says why: "
                "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=P2P,GRAPH.",
                "unset NCCL_P2P_DISABLE NCCL_P2P_LEVEL && gpudoctor prove --links",
            ),
        ),
    )
