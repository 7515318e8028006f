"""A GPU no longer answers: it has fallen off the bus.

What is wrong: the driver holds the GPU, and NVML no longer lists it, or says that it is lost.

How it shows: `nvidia-smi` prints `Unable to determine the device handle ... GPU is lost` or lists one GPU fewer; the
kernel log has `NVRM: Xid 79, GPU has fallen off the bus`.

Why it happens: power (supply, cables, load peaks), heat, a bad riser or slot, PCIe errors, a defect of the board.

How to fix it: power the machine off and on (a reboot alone may not be enough), then look at power and seating. In a
container or rented machine take another host and tell the provider.

Source: NVML return code 15 NVML_ERROR_GPU_IS_LOST (nvml.h); Xid 79, docs.nvidia.com/deploy/xid-errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy
from ..fixes.driver import other_host
from ..fixes.place import container_kind
from ..fixes.restart import reboot
from ..snapshot import Gpu, Missing, Snapshot, known
from ._seen import BROKEN_DRIVER, DRIVERLESS, NODES, NOT_GIVEN, is_wsl, need_gpus, nvidia_cards

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="A GPU no longer answers",
    sound="No GPU is reported as lost",
    severity="critical",
    layer="hardware",
    tags=("gpu",),
    downstream_of=(*DRIVERLESS, *BROKEN_DRIVER, *NODES, *NOT_GIVEN),
)

NVML_GPU_IS_LOST = 15


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails where NVML says lost, or where on a host it lists fewer GPUs than the driver holds on the bus."""
    for gpu in known(s.gpus) or ():
        if _lost(gpu):
            yield _finding(s, f"{known(gpu.name) or 'GPU'} {known(gpu.pci_address) or gpu.key}", gpu.key, "it is lost")
    if known(s.driver.nvml_init) == NVML_GPU_IS_LOST:
        yield _finding(s, "A GPU", "", "a GPU is lost (15)")
        return
    if container_kind(s) or is_wsl(s) or not isinstance(s.driver.pci_devices, tuple):
        need_gpus(s)
        return  # only a host sees all of them
    bound = [card for card in nvidia_cards(s) or () if card.driver == "nvidia"]
    if not bound:
        return
    gpus = need_gpus(s)
    listed = {known(g.pci_address) for g in gpus}
    if not isinstance(s.host.environment, Missing) and any(v.name == "SLURM_JOB_ID" for v in s.host.environment):
        return  # a batch job sees only its own GPUs
    if None in listed or len(gpus) >= len(bound):
        return
    for card in bound:
        if card.address not in listed:
            yield _finding(s, f"The GPU at {card.address}", card.address, f"{len(gpus)} of {len(bound)} GPUs answer")


def _lost(gpu: Gpu) -> bool:
    facts = (gpu.name, gpu.uuid, gpu.memory_total_mib, gpu.temperature_c, gpu.power_draw_w, gpu.compute_capability)
    return any(isinstance(f, Missing) and f.reason == "error" and "lost" in f.detail.lower() for f in facts)


def _finding(s: Snapshot, which: str, key: str, said: str) -> Finding:
    again = reboot(s, "Power the machine off and on; then check power cables, seating and 'dmesg | grep -i xid'.")
    away = other_host(s, "with healthy GPUs (and tell the provider about this one)")
    return CHECK.fail(
        f"{which} no longer answers",
        f"The kernel driver holds the GPU, but NVML says: {said}.",
        facts={"gpu": key, "nvml": said},
        subject=key,
        fixes=(away, again) if container_kind(s) else (again,),
    )
