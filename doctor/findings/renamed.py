"""Former ids of checks: a fault that `check` and `explain` once named differently has one id now."""

from __future__ import annotations

RENAMED = {
    "container-runtime-not-configured": "engine-lacks-gpu-support",
    "input-pipeline-bottleneck": "dataloader-bound",
    "nccl-wrong-interface": "ranks-meet-on-wrong-interface",
    "p2p-blocked-by-iommu-acs": "acs-redirects-peer-traffic",
}
"""Former id to the id of today. Accepted by `gpudoctor explain ID` and as the label of a case."""


def current(name: str) -> str:
    """The id of today for this id."""
    return RENAMED.get(name, name)
