"""Messages between two ranks are far slower than between other ranks.

What is wrong: messages from one rank to another reach less than 60 % of the median rate of comparable pairs, which are
either all on one node or all on different nodes.

Symptoms: every collective is as slow as its slowest link, so one such pair slows down the whole training run.

Why it happens: an NVLink that is down between two GPUs, a pair whose traffic goes through the CPUs, a network port or
cable that came up at a lower rate, or a busy switch.

How to fix it: `nvidia-smi topo -m` shows what connects the two GPUs; between nodes, compare the rate of their network
ports (`ethtool`, `ibstat`).

There is no expected range to compare with, so this is only a warning. It is checked only with NCCL, and only if four or
more pairs were measured. If half of the pairs or more are slow, nothing is reported, because the machine is then
probably built that way.

Source: messages between each pair of ranks in `gpudoctor prove --links`.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..snapshot import Snapshot, known
from ..snapshot.siblings import below_siblings
from ._measured import measured

CHECK = Check(
    __name__,
    title="Messages between two ranks are slow",
    sound="No small group of rank pairs is much slower than the rest",
    severity="warning",
    layer="speed",
    tags=("measured", "multi-gpu", "network", "speed"),
    downstream_of=("gpu-link-slow", "nvlink-inactive", "nvlink-fabric-unhealthy", "fabric-manager-not-running"),
)
_SHARE, _LEAST = 0.6, 4


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for slow pairs on one node, one for slow pairs on different nodes."""
    found = measured(s)
    sends = known(found.sends) or ()
    if not sends or not any(group.backend == "nccl" for group in known(found.link_groups) or ()):
        raise NotExamined("no messages between GPUs were timed; run gpudoctor prove --links")
    from ..fixes.speed import here

    for same in (True, False):
        alike = {f"{one.source} to {one.target}": one.gb_s for one in sends if one.same_node is same and one.gb_s > 0}
        slow = below_siblings(alike, _SHARE)
        if len(alike) < _LEAST or not slow or 2 * len(slow) >= len(alike):
            continue
        worst = min(slow, key=lambda name: alike[name] / slow[name])
        others = f" (and {len(slow) - 1} other pair{'s' * (len(slow) > 2)})" if len(slow) > 1 else ""
        yield CHECK.warn(
            f"Messages from rank {worst}{others} reach {alike[worst]:.3g} GB/s, compared with {slow[worst]:.3g} "
            "GB/s for the rest",
            f"Each of these pairs is {'within one node' if same else 'between two nodes'}.",
            facts={"pairs": sorted(slow), "gb_s": alike[worst], "others_gb_s": slow[worst], "same_node": same},
            subject=worst,
            fixes=(
                here(
                    "links-again",
                    "Check what connects the two ranks, and measure again",
                    "Interference from another program can look the same.",
                    "gpudoctor prove --links",
                ),
            ),
        )
