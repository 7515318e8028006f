"""There is an NVIDIA GPU, but no NVIDIA driver.

What is wrong: there is an NVIDIA GPU on the PCI bus, but no nvidia kernel module is loaded and none of the driver's
libraries (libcuda, libnvidia-ml) was found. In a container this means that the host has no driver: kernel modules
belong to the host, and the container toolkit can only pass on what the host has.

Symptoms: `nvidia-smi: command not found`, `Found no NVIDIA driver on your system`, `is_available()` is False.

Why it happens: a fresh machine image without a driver; a kernel or distribution upgrade that removed the packages.

How to fix it: install the driver on the host with the distribution's own tool or from NVIDIA's repository, then reboot.
If you are in a container, choose a host that has a driver. Installing a CUDA toolkit or a different torch does not
help.

Source: NVIDIA driver installation guide, docs.nvidia.com/datacenter/tesla/driver-installation-guide.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.driver import install_compatible
from ..fixes.where import container_kind
from ..snapshot import Snapshot, known, need
from ._seen import absent, is_wsl, need_module_loaded, not_on_pci, nvidia_cards

CHECK = Check(
    __name__,
    title="No NVIDIA driver is installed",
    sound="A driver is installed",
    severity="critical",
    layer="driver",
    tags=("driver",),
    downstream_of=("no-nvidia-gpu", "other-kernel-driver-bound"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if a card is on the bus, no module is loaded and neither driver library is found."""
    if is_wsl(s):
        raise Skip("WSL: the driver is installed in Windows")
    if need_module_loaded(s):
        return
    need("driver.pci_devices", s.driver.pci_devices)
    if not nvidia_cards(s):
        raise not_on_pci(s)
    for name in ("nvml_library_path", "libcuda_path"):
        fact = getattr(s.driver, name)
        if not absent(fact) and not (name == "libcuda_path" and known(s.driver.libcuda_stub) is True):
            need(f"driver.{name}", fact)
            return  # libraries are there: driver-not-loaded
    where = "The host has" if container_kind(s) else "This machine has"
    cards = nvidia_cards(s) or []
    row = m.gpu(pci_device_id=cards[0].device)
    names = {r.name for r in row.rows}
    name = names.pop() if len(names) == 1 else f"PCI device 10de:{cards[0].device}"
    detail = (
        f"{name} is on the PCI bus, but no nvidia kernel module is loaded, and no libcuda or libnvidia-ml was found."
    )
    if container_kind(s):
        detail += " Kernel modules belong to the host, so this cannot be fixed inside the container."
    yield CHECK.fail(
        f"{where} an NVIDIA GPU but no NVIDIA driver",
        detail,
        facts={"pci_address": cards[0].address, "pci_device_id": cards[0].device},
        fixes=install_compatible(s, m, p.judged_on),
    )
