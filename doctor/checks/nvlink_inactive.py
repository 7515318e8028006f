"""Some of a GPU's NVLink links are down, while those of its peers are up.

What is wrong: GPUs of one model in one machine should have the same number of active links. This one has fewer.

Symptoms: NCCL is slow in jobs that use this GPU; `nvidia-smi nvlink -s` lists inactive links; Xid 74 in the kernel log.

Why it happens: an NVLink error after which the link stays down until a reset; a fabric manager problem; a bad bridge or
board. Some products use fewer links by design, so only GPUs in one machine are compared with each other.

How to fix it: reset the GPUs or reboot, and check the fabric manager; if that does not help, check the bridge or board.
If the machine is rented, switch to a different host.

Source: nvidia-smi(1), nvlink; Xid 74, docs.nvidia.com/deploy/xid-errors.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.links import reset_links
from ..snapshot import Snapshot, known
from ._boards import every, rows_of
from ._readings import ONE_GPU, Readings, listed, name_of

CHECK = Check(
    __name__,
    title="NVLink links are down",
    sound="No GPU has fewer NVLink links up than the others",
    severity="warning",
    layer="hardware",
    tags=("gpu", "health", "nvlink"),
    downstream_of=("fabric-manager-not-running", "gpu-fell-off-bus"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each GPU with fewer active links than the others of its model."""
    gpus = listed(s)
    if len(gpus) < 2:
        raise Skip(ONE_GPU)
    seen, active = Readings(), {}
    highest: dict[str, int] = {}
    for gpu in gpus:
        links = seen.of("nvlink_active", gpu.nvlink_active)
        if links is not None and known(gpu.mig_enabled) is not True:
            active[gpu.key] = links
            highest[str(gpu.name)] = max(links, highest.get(str(gpu.name), 0))
    for gpu in gpus:
        mine, most = active.get(gpu.key), highest.get(str(gpu.name), 0)
        if mine is None or mine >= most:
            continue
        if mine == 0 and not every(rows_of(m, gpu), "form_factor", "SXM"):
            continue  # a PCIe board without a bridge
        yield CHECK.warn(
            f"{name_of(gpu)} has {mine} active NVLink links, but its peers have {most}",
            "Traffic between GPUs uses the remaining links, or PCIe.",
            facts={"nvlink_active": mine, "peers": most},
            subject=gpu.key,
            fixes=reset_links(s),
        )
    seen.end("NVLink")
