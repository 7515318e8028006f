"""A GPU's PCIe link is resending packets right now.

What is wrong: packets between GPU and CPU are arriving corrupted and being resent, several times while gpudoctor is
watching.

Symptoms: `nvidia-smi -q` prints `Replays Since Reset`, and the number grows from call to call. Copies between host
and GPU are slow or uneven; the kernel log may have `AER: Corrected error`.

Why it happens: a board that is not fully seated, a riser or cable, dirt in the slot, a link that runs at a generation
that the riser cannot handle; rarely the board itself.

How to fix it: reseat the board, without a riser; set the slot to a lower PCIe generation in the firmware. If the
machine is rented, switch to a different host.

On many healthy machines the count since the last reset is not 0, so that count is not judged. If a counter is not 0,
gpudoctor reads it again about 100 ms later, and warns if it finds 3 or more new replays. That is a rate of 1800 per
minute; for a 16-lane link, DCGM allows 3 (generation 1) to 62 (generation 6).

Source: NVML, nvmlDeviceGetPcieReplayCounter; limits: DCGM (DcgmHealthWatch, GetExpectedPcieReplayRate).
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.links import steady_link
from ..snapshot import Snapshot, known
from ._boards import is_vgpu
from ._readings import Readings, limit, listed, name_of

CHECK = Check(
    __name__,
    title="A GPU's PCIe link is resending packets",
    sound="The PCIe links are not resending many packets",
    severity="warning",
    layer="hardware",
    tags=("gpu", "health", "speed"),
    downstream_of=("gpu-fell-off-bus",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each GPU whose counter climbed between two readings."""
    seen = Readings()
    for gpu in listed(s):
        if is_vgpu(gpu):
            continue
        climbed = seen.of("pcie_replays_climbed", gpu.pcie_replays_climbed) or 0
        if climbed < limit(p, "pcie_replays_climbed", 3):
            continue
        apart_ms, count = known(gpu.counters_apart_ms) or 100, (known(gpu.pcie_replays) or 0) + climbed
        yield CHECK.warn(
            f"{name_of(gpu)} is resending PCIe packets: {climbed} within {apart_ms} ms",
            f"Packets arrive corrupted and are resent: {count} since the GPU was last reset.",
            facts={"pcie_replays": count, "climbed": climbed, "apart_ms": apart_ms},
            subject=gpu.key,
            fixes=steady_link(s, gpu.key),
        )
    seen.end("PCIe replays")
