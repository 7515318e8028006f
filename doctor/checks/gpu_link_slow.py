"""Copies between two GPUs are slower than the connection between them allows.

What is wrong: copies from one GPU to another run at less than 70 % of the rate of their NVLinks, or, if both are behind
one PCIe switch, at less than 60 % of the rate of copies from the host; or they are far slower than other pairs on this
machine that are connected in the same way.

Symptoms: training on several GPUs waits in NCCL; one pair of GPUs holds up all of them, because every collective is as
slow as its slowest link.

Why it happens: an NVLink bridge that is not seated properly or links that are down, so that data goes over PCIe; a
fabric that is down; an IOMMU or ACS that sends peer-to-peer copies through the processor; a PCIe link with fewer lanes.

How to fix it: run `nvidia-smi topo -m` and `nvidia-smi nvlink --status` to see how the GPUs are connected. Reseat the
bridge, reset the GPUs, or turn ACS off on the PCIe switch. If the machine is rented, use another host.

Pairs that are connected through the processors have no normal range: each platform has its own rate, and a healthy pair
that is far apart never causes a warning. If other programs are using the GPUs, a slow pair is only a note. The check
fails only below half of NVLink's rate.

Source: copies of 64 MiB between every two GPUs in `gpudoctor prove`; the matrix's NVLink and PCIe rates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Finding, Findings, Fix, Matrix, NotExamined, Policy, Skip
from ..snapshot import Snapshot, known
from ._measured import measured
from ._readings import ONE_GPU, name_of

if TYPE_CHECKING:
    from ..findings.measured_links import Link

CHECK = Check(
    __name__,
    title="Copies between two GPUs are slow",
    sound="No copy between GPUs is slow for its connection",
    severity="error",
    layer="speed",
    tags=("measured", "multi-gpu", "nvlink", "speed"),
    downstream_of=(
        "gpu-wrong-results",
        "nvlink-inactive",
        "nvlink-fabric-unhealthy",
        "fabric-manager-not-running",
        "pcie-link-or-topology-slow",
    ),
)
_NAMED = 6
"""Pairs that are listed one by one, the slowest first."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding for the slow pairs over NVLink, one for those over PCIe."""
    if len(known(s.gpus) or ()) == 1:
        raise Skip(ONE_GPU)
    measured(s)
    from ..findings.measured_links import links

    found = links(s, m)
    if not found:
        raise NotExamined("no copies between GPUs were timed")
    low = [link for link in found if link.low]
    for nvlink in (True, False):
        own = sorted((link for link in low if (link.way == "nvlink") is nvlink), key=_share)
        if own:
            yield _finding(s, own)


def _share(link: Link) -> float:
    return link.gb_s / (link.alike or link.band.typical or link.gb_s)


def _finding(s: Snapshot, low: list[Link]) -> Finding:
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_links import WORDS
    from ..findings.measured_rates import number
    from ..findings.measured_results import suspect_of

    worst = low[0]
    pairs = list(dict.fromkeys(tuple(sorted((link.pair.source, link.pair.target))) for link in low))
    more = f" (and {len(pairs) - 1} other pair{'s' * (len(pairs) > 2)})" if len(pairs) > 1 else ""
    listed = "; ".join(link.figures() for link in low[:_NAMED])
    words = [f"{listed}{f'; and {len(low) - _NAMED} more' if len(low) > _NAMED else ''}."]
    if worst.band.basis != "unknown":
        words.append(f"The normal range comes from {worst.band.reason}.")
    suspect = suspect_of([link.pair for link in low])
    if len(pairs) > 1 and all(suspect in pair for pair in pairs):
        gpu = gpu_of(s, suspect)
        words.append(f"All of these pairs include {suspect}{f', {name_of(gpu)}' if gpu else ''}.")
    title = f"Copies from {worst.names}{more} are slow: {number(worst.gb_s)} GB/s over {WORDS[worst.way]}"
    facts = {
        "pairs": [[link.pair.source, link.pair.target] for link in low],
        "way": worst.way,
        "gb_s": worst.gb_s,
        "low": round(worst.band.low, 2),
        "nvlinks": worst.nvlinks,
        "topology": _topology(s, worst),
    }
    subject = f"{worst.pair.source}>{worst.pair.target}"
    if all(link.busy for link in low):
        words.append(
            "Another program was using these GPUs, so this result says little: measure again when the GPUs are free."
        )
        return CHECK.remark(title, " ".join(words), facts=facts, subject=subject)
    if worst.way == "nvlink":
        words.append("Most likely, links between the two are down, so data goes over PCIe.")
    failing = worst.way == "nvlink" and not worst.busy and worst.band.floor and worst.gb_s < worst.band.floor
    make = CHECK.fail if failing else CHECK.warn
    return make(title, " ".join(words), facts=facts, subject=subject, fixes=_fixes(s, worst))


def _topology(s: Snapshot, link: Link) -> int | None:
    keys = {gpu.key for gpu in link.gpus if gpu}
    return next((known(pair.topology) for pair in known(s.gpu_pairs) or () if {pair.a, pair.b} == keys), None)


def _fixes(s: Snapshot, link: Link) -> tuple[Fix, ...]:
    from ..fixes.between_gpus import of_pairs
    from ..fixes.links import reset_links
    from ..fixes.speed import measured_again

    return measured_again(reset_links(s)) if link.way == "nvlink" else of_pairs(s)
