"""CUDA numbers the GPUs in a different order than nvidia-smi.

What is wrong: nvidia-smi numbers GPUs by PCI address, but CUDA by default puts the fastest first. With GPUs of
different models, the same number can then mean two different GPUs.

Symptoms: CUDA_VISIBLE_DEVICES=1 picks a different GPU than number 1 in nvidia-smi; a program runs on the small
card, runs out of memory, or has no code for that card's architecture.

Why it happens: CUDA_DEVICE_ORDER is not set; its default is FASTEST_FIRST.

How to fix it: `export CUDA_DEVICE_ORDER=PCI_BUS_ID`, or select GPUs by their GPU-... identifiers. The finding is only a
note as long as CUDA_VISIBLE_DEVICES does not select GPUs by number.

Source: CUDA C++ Programming Guide, environment variables.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.selection import pci_order
from ..snapshot import CudaDevice, Gpu, Missing, NeedsFact, Snapshot, known, need
from ._readings import ONE_GPU, listed
from ._seen import need_whole

CHECK = Check(
    __name__,
    title="CUDA and nvidia-smi number the GPUs differently",
    sound="Each number means the same GPU model in CUDA and nvidia-smi",
    severity="warning",
    layer="libraries",
    tags=("selection", "gpu"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Compares CUDA's list of devices with NVML's if there are GPUs of different models."""
    gpus = listed(s)
    if len({known(g.name) for g in gpus}) < 2:
        raise Skip(ONE_GPU if len(gpus) == 1 else "all GPUs are the same model")
    if need("host.environment", s.host.env("CUDA_DEVICE_ORDER")) == "PCI_BUS_ID":
        return
    devices = need("driver.cuda_devices", s.driver.cuda_devices)
    need_whole(s, "gpus", "cuda-devices")
    value = known(s.host.env("CUDA_VISIBLE_DEVICES")) or ""
    entries = [entry.strip() for entry in value.split(",") if entry.strip()]
    mine = [_gpu_of(device, gpus) for device in devices]
    if not all(entry.isascii() and entry.isdecimal() for entry in entries):
        raise Skip("CUDA_VISIBLE_DEVICES selects GPUs by identifier, not by number")
    meant = [gpus[int(e[:9])] for e in entries if int(e[:9]) < len(gpus)] if entries else list(gpus)
    wrong = [(i, a, b) for i, (a, b) in enumerate(zip(mine, meant, strict=False)) if a.name != b.name]
    if not wrong:
        return
    i, got, requested = wrong[0]
    number = entries[i] if entries else str(i)
    facts = {"cuda": [known(g.name) for g in mine], "nvidia_smi": [known(g.name) for g in gpus], "value": value}
    make = CHECK.warn if entries else CHECK.remark
    yield make(
        f"GPU {number} is {known(got.name)} in CUDA and {known(requested.name)} in nvidia-smi",
        "CUDA puts the fastest GPU first unless CUDA_DEVICE_ORDER is PCI_BUS_ID."
        + (f" CUDA_VISIBLE_DEVICES={value} selects GPUs by number." if entries else ""),
        facts=facts,
        fixes=(pci_order(s),),
    )


def _gpu_of(device: CudaDevice, gpus: tuple[Gpu, ...]) -> Gpu:
    """The NVML GPU that a CUDA device is, by address or UUID."""
    for gpu in gpus:
        address, uuid = known(device.pci_address), known(device.uuid)
        if (address and address == known(gpu.pci_address)) or (uuid and uuid == known(gpu.uuid)):
            return gpu
    raise NeedsFact("driver.cuda_devices", Missing("conflict", "a CUDA device is not in NVML's list of GPUs"))
