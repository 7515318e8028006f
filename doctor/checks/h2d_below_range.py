"""Copies from the host to the GPU are slower than its link allows.

What is wrong: pinned host-to-device copies stay below 80 % of what boards with this PCIe generation and width reach
(12 GB/s for generation 3, 26 for 4, 55 for 5, with 16 lanes).

Copies to the host are compared with a range that is one fifth lower, because no source gives a separate range for them.

Symptoms: loading weights, data batches, offloading and multi-GPU work without NVLink are slow; kernels are not.

Why it happens (most likely cause first, judged by the link that NVML showed under load): fewer lanes or a lower
generation than the board and the slot support; otherwise memory on the other processor socket (NUMA), an IOMMU, a
virtual machine, other copies at the same time.

How to fix it: reseat the board or use a slot with all its lanes connected; bind the process to its GPU's socket
(numactl). This finding is a warning, never a failure. It is only a note if a narrow link explains the slow copies: in a
virtual machine, or if several boards share a processor's lanes and each has half of them. In a virtual machine, copies
down to half of what is typical are also only a note: the ranges come from bare-metal machines, and a virtual machine
loses some of that speed because of its IOMMU and the location of its memory.

Source: the matrix's PCIe rates and measured copies; `gpudoctor prove --quick`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..findings import Check, Finding, Findings, Fix, Policy
from ..snapshot import Snapshot, known

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..findings.measured_rates import Ranged

CHECK = Check(
    __name__,
    title="Copies to the GPU are slower than its link allows",
    sound="Copies from the host are not below the expected range",
    severity="warning",
    layer="speed",
    tags=("measured", "gpu", "pcie", "speed"),
    downstream_of=("pcie-link-or-topology-slow",),
)
_HALF = 0.5
"""Share of what is typical, below which a virtual machine explains nothing."""
_VIRTUAL = "the virtual machine (its IOMMU; encryption, if confidential computing is on), "


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Each GPU whose pinned copies are below its link's range."""
    from ._measured import measured

    measured(s)
    from ._measured_low import low_rates

    for finding in low_rates(CHECK, s, m, p, "copy", "speed of copies from the host", lambda low: _explain(s, low)):
        if finding.status == "fail":
            finding = replace(finding, status="warn", severity="warning")
        if finding.status == "warn" and (far := _far(s, finding.subject)):
            finding = replace(finding, status="pass", severity="info", detail=f"{finding.detail} {far}", fixes=())
        enough = finding.facts["value"] >= _HALF * finding.facts["typical"]
        if finding.status == "warn" and enough and _virtual(s):
            words = f"{finding.detail} The range is for bare-metal machines; none is published for virtual machines."
            finding = replace(finding, status="pass", severity="info", detail=words, fixes=())
        if finding.status == "warn" and _narrow_by_design(s, m, finding):
            words = f"{finding.detail} Several boards or tenants share the host's PCIe lanes on this machine."
            finding = replace(finding, status="pass", severity="info", detail=words, fixes=())
        yield finding


def _virtual(s: Snapshot) -> bool:
    return known(s.host.virtualization) not in (None, "none")


def _far(s: Snapshot, key: str) -> str:
    """Why the copies were not from memory on the GPU's own NUMA node; empty if they were."""
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_rates import H2D

    for rate in known(s.measured.rates) or ():
        gpu = gpu_of(s, rate.device) if rate.kind == "copy" and rate.what == H2D else None
        node = rate.detail.get("gpu_node")
        if gpu and gpu.key == key and node is not None and rate.detail.get("host_node") != node:
            return (
                f"This process is not allowed to use any core of the GPU's NUMA node {node}, so the host memory was on "
                "a different node."
            )
    return ""


def _narrow_by_design(s: Snapshot, m: Matrix, finding: Finding) -> bool:
    """Whether copies are as fast as the link that NVML shows under load, if it is narrow by design: in what may be a
    virtual machine, and if several boards have half of a processor's lanes each."""
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_rates import load_of
    from ._boards import every, rows_of

    gpu = gpu_of(s, "", finding.subject)
    load = load_of(s.measured, finding.subject, "copy")
    if gpu is None or load is None:
        return False
    rows, width = rows_of(m, gpu), known(load.pcie_width)
    half = width is not None and 2 * width >= (known(gpu.pcie_width_max) or 16)
    shared = half and len(known(s.gpus) or ()) > 1 and not every(rows, "form_factor", "SXM")
    if known(s.host.virtualization) == "none" and not shared:
        return False
    link = m.expected(rows, "h2d", pcie_gen=known(load.pcie_gen), pcie_width=width)
    return link.basis != "unknown" and bool(finding.facts["value"] >= link.low)


def _explain(s: Snapshot, low: list[Ranged]) -> tuple[str, tuple[Fix, ...]]:
    from ..fixes.gpu_state import seat_board
    from ..fixes.speed import here, measured_again

    gpu, load = low[0].gpu, low[0].load
    gen, width = (known(load.pcie_gen), known(load.pcie_width)) if load else (None, None)
    gen_max, width_max = (known(gpu.pcie_gen_max), known(gpu.pcie_width_max)) if gpu else (None, None)
    seen = f"Under load the link was PCIe generation {gen} with {width} lanes" if gen and width else ""
    if gpu and seen and ((gen_max and gen and gen < gen_max) or (width_max and width and width < width_max)):
        words = (
            f"{seen}, but the board and the slot support generation {gen_max or gen} with {width_max or width}: that "
            "is the cause."
        )
        return words, measured_again(seat_board(s, gpu.key, width_max or 16))
    words = f"{seen}, as it should be. " if seen else ""
    words += "Most likely: " + (_VIRTUAL if _virtual(s) else "")
    words += "host memory on another processor socket (NUMA), or other copies at the same time."
    bind = here(
        "bind-to-socket",
        "Bind the process to its GPU's processor socket",
        "nvidia-smi topo -m shows the NUMA node of each GPU; bind to that node and measure again.",
        "numactl --cpunodebind=NODE --membind=NODE gpudoctor prove",
    )
    return words, (bind,)
