"""NCCL passes data through host memory although the GPUs could reach each other directly.

What is wrong: NCCL connected GPUs on this node through shared memory (SHM in its log), although the driver says that
they can read each other's memory. Collectives then go through host memory, at a tenth of NVLink's rate.

Symptoms: `via SHM/direct/direct` in NCCL's log, an all-reduce at only a few GB/s.

Why it happens: NCCL_P2P_DISABLE or a low NCCL_P2P_LEVEL in a start script or /etc/nccl.conf; containers that each see
only one GPU and do not share process namespaces; or NCCL's own distance limit, because it uses peer-to-peer across
processors (SYS) on only a few machines.

How to fix it: unset the variable, and remove it from /etc/nccl.conf and ~/.nccl.conf; give one container access to all
GPUs. Across processors, NCCL_P2P_LEVEL=SYS makes NCCL try it; measure again, because it may be slower.

This is a warning if NVLink connects the GPUs, but only a note if they are connected over PCIe alone.

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
    """Warns where shared memory is used instead of NVLink."""
    groups = [group for group in known(measured(s).link_groups) or () if group.backend == "nccl" and not group.variant]
    if not groups or not groups[0].transports:
        raise of_several(s, "NCCL's choice of links was not measured: run gpudoctor prove --links")
    if "SHM" not in groups[0].transports:
        return
    pairs = known(s.gpu_pairs) or ()
    nvlink = any(known(pair.p2p_nvlink) == 0 for pair in pairs)
    if not nvlink and not any(known(pair.p2p_read) == 0 for pair in pairs):
        raise Skip("the driver reports no pair of GPUs that can reach each other directly")
    from ..fixes.speed import here

    yield (CHECK.warn if nvlink else CHECK.remark)(
        "NCCL passes data through host memory, although "
        + ("NVLink connects the GPUs" if nvlink else "the GPUs can reach each other over PCIe"),
        f"NCCL's log shows these transports: {', '.join(groups[0].transports)}.",
        facts={"transports": list(groups[0].transports), "nvlink": nvlink},
        fixes=(
            here(
                "nccl-peer-to-peer",
                "Allow NCCL to use peer-to-peer, then measure again",
                "/etc/nccl.conf and ~/.nccl.conf may also set these variables. If nothing changes, set NCCL_DEBUG=INFO "
                "NCCL_DEBUG_SUBSYS=P2P,GRAPH: NCCL's log then says why.",
                "unset NCCL_P2P_DISABLE NCCL_P2P_LEVEL && gpudoctor prove --links",
            ),
        ),
    )
