"""All ranks of a training run wait for a slower one.

What is wrong: in a loop that runs the same work on every GPU and then an all-reduce, one rank takes more than 1.3 times
as long for its work as the median of the others. The others spend that time waiting in the all-reduce.

Symptoms: steps on several GPUs take longer than on one, even though the links are fast; a profile shows long
all-reduces on all ranks but one. In that case NCCL is not slow; it is waiting.

Why it happens: a GPU that is throttling or that another program is using, a process on the wrong cores, a node with
slower GPUs.

How to fix it: `gpudoctor prove --quick` compares each GPU with its siblings, and shows what is holding it back.

Checked only on GPUs: on the CPU the ranks share the cores, so one always waits for another.

Source: 20 steps of matrix multiplications and an all-reduce on each rank in `gpudoctor prove --links`.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..snapshot import Snapshot, known
from ..snapshot.siblings import below_siblings
from ._measured import measured

CHECK = Check(
    __name__,
    title="One rank keeps the others waiting",
    sound="No single rank keeps the others waiting",
    severity="warning",
    layer="speed",
    tags=("measured", "multi-gpu", "speed"),
    downstream_of=(
        "gpu-slower-than-siblings",
        "gpu-power-or-thermal-limited",
        "thermally-throttled",
        "gpu-memory-in-use",
    ),
)
_SHARE = 1 / 1.3


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each rank whose work takes far longer than that of the others, if these wait for it."""
    waits = known(measured(s).rank_waits)
    if waits is None:
        raise NotExamined("rank wait times were not measured; run gpudoctor prove --links")
    waits = tuple(wait for wait in waits if wait.device.startswith("cuda") and wait.work_ms > 0)
    if len(waits) < 2:
        raise NotExamined("fewer than two ranks ran on GPUs")
    from ..fixes.speed import here

    slow = below_siblings({str(wait.rank): 1 / wait.work_ms for wait in waits}, _SHARE)
    if 2 * len(slow) >= len(waits) and len(waits) > 2:
        return
    for wait in waits:
        others = sorted(other.collective_ms for other in waits if other.rank != wait.rank)
        if str(wait.rank) not in slow or wait.collective_ms >= others[len(others) // 2]:
            continue
        usual = 1 / slow[str(wait.rank)]
        node = f" on node {wait.node}" if any(other.node for other in waits) else ""
        yield CHECK.warn(
            f"Rank {wait.rank} ({wait.device}{node}) keeps the other {len(waits) - 1} waiting",
            f"The same work takes {wait.work_ms:.1f} ms on this rank and {usual:.1f} ms on the others, which spend "
            f"{others[len(others) // 2]:.1f} ms of each step in the all-reduce.",
            facts={"rank": wait.rank, "node": wait.node, "work_ms": wait.work_ms, "others_ms": round(usual, 3)},
            subject=f"rank {wait.rank}",
            fixes=(
                here(
                    "measure-that-gpu",
                    "Measure each GPU on that node separately",
                    "This shows whether the GPU is slower than its siblings, and whether heat, power or another "
                    "program is holding it back.",
                    "gpudoctor prove --quick",
                ),
            ),
        )
