"""The NVIDIA GPU is bound to a different kernel driver: nouveau, nova, vfio-pci ...

What is wrong: each PCI device has one kernel driver at a time. This GPU is bound to one that CUDA cannot use.

Symptoms: `nvidia-smi has failed because it couldn't communicate with the NVIDIA driver`; `modprobe nvidia` says `No
such device`; installing the driver fails with `Unable to load the kernel module`.

Why it happens: nouveau (or nova on newer kernels) is part of the Linux kernel and claims the card at boot if no NVIDIA
driver is installed, or if the driver's block list is not in the initramfs; vfio-pci claims a card that is passed
through to a virtual machine.

How to fix it: block nouveau and nova, install the NVIDIA driver, rebuild the initramfs, and reboot. For vfio-pci: shut
down the virtual machine, remove the card's IDs from the vfio-pci options, and reboot; or use the card inside that
virtual machine.

A card bound to vfio-pci is only a note if other cards are bound to the NVIDIA driver, because in that case it was
passed through on purpose.

Source: the `driver` link of each device in /sys/bus/pci/devices; NVIDIA driver installation guide, nouveau section.
"""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Matrix, Policy, Skip
from ..fixes.card import release_card
from ..fixes.where import container_kind
from ..snapshot import PciDevice, Snapshot, known, need
from ._seen import absent, is_wsl, not_on_pci, nvidia_cards

CHECK = Check(
    __name__,
    title="The GPU is bound to a different kernel driver",
    sound="The GPU is not bound to a different kernel driver",
    severity="critical",
    layer="driver",
    tags=("driver",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Decided by the driver link of the NVIDIA cards on the PCI bus."""
    if is_wsl(s):
        raise Skip("in WSL, the Windows driver controls the GPU")
    if s.host.system == "windows":
        raise Skip("Windows has no Linux kernel drivers")
    need("driver.pci_devices", s.driver.pci_devices)
    cards = nvidia_cards(s) or []
    if not cards:
        raise not_on_pci(s)
    working = [card for card in cards if card.driver == "nvidia"]
    for card in cards:
        held_by = card.driver
        if not isinstance(held_by, str) or held_by.startswith("nvidia"):
            continue
        facts = {"pci_address": card.address, "kernel_driver": held_by}
        if working and held_by.startswith("vfio"):
            yield CHECK.remark(f"GPU {card.address} is passed through ({held_by})", facts=facts, subject=card.address)
            continue
        yield _finding(s, m, card, held_by, facts)
    if not working:
        for card in cards:
            need("driver.pci_devices.driver", card.driver)


def _finding(s: Snapshot, m: Matrix, card: PciDevice, held_by: str, facts: dict[str, str]) -> Finding:
    libraries = (s.driver.nvml_library_path, s.driver.libcuda_path)
    looked = all(absent(path) for path in libraries)
    installed = False if looked else True if any(known(path) for path in libraries) else None
    detail = f"PCI device {card.address} is bound to {held_by}, so the NVIDIA driver cannot use it."
    if installed is False and not container_kind(s):
        detail += " No NVIDIA driver libraries were found either, so the driver is not installed."
    return CHECK.fail(
        f"The GPU is bound to the kernel driver {held_by}",
        detail,
        facts=facts,
        subject=card.address,
        fixes=release_card(s, m, held_by, installed),
    )
