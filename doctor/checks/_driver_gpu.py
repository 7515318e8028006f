"""Compares each GPU with the driver, using the matrix; shared by the three checks of driver and GPU generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from ..findings import Skip
from ..fixes.where import container_kind
from ..snapshot import NOT_ASKED, Missing, NeedsFact, Snapshot, known, need
from ._seen import absent, is_wsl, module_loaded, nvidia_cards, real_libcudas

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.drivers import DriverGpuGrade


class Graded(Struct, frozen=True):
    """A GPU, what it is, and how the matrix grades the driver for it."""

    key: str
    name: str
    capability: str
    grade: DriverGpuGrade


def graded(s: Snapshot, m: Matrix, *, any_version: bool = False) -> Iterator[Graded]:
    """GPUs that CUDA does not show as working, each with its grade; at the end UNKNOWN if one had none.

    A GPU that CUDA lists works with this driver, whatever a table says. One that NVML does not list is identified by
    its PCI device id. `any_version`: if the driver version is not known, its flavor is graded as the newest one's.
    """
    version = on_disk(s) or s.driver.version
    if absent(version) and absent(s.driver.nvml_init):
        raise Skip("no driver", without="gpu")
    untold = known(s.driver.version) is None and s.driver.kernel_version == NOT_ASKED
    if any_version and untold and not isinstance(s.driver.kernel_flavour, Missing):
        version = str(max(row.branch for row in m.drivers))
    else:
        version = need("driver.kernel_version", version)
    devices = known(s.driver.cuda_devices) or ()
    working = {known(d.pci_address) for d in devices} if s.driver.cu_init == 0 else set()
    every = s.driver.cu_init == 0 and len(devices) >= max(1, len(known(s.gpus) or ())) and not s.cap("gpus")
    seen: set[str] = set()
    lack: NeedsFact | None = None
    found = list(_gpus(s, m))
    if not found:
        need("gpus", s.gpus)
        need("driver.pci_devices", s.driver.pci_devices)
        raise Skip("no NVIDIA GPU was seen", without="gpu")
    for key, address, name, capability in found:
        if address and address in seen:
            continue
        seen.add(address)
        if address in working or (every and not address):
            continue
        if isinstance(capability, Missing):
            lack = NeedsFact("gpus.compute_capability", capability)
            continue
        flavour = known(s.driver.kernel_flavour)
        grade = m.driver_for_gpu(version, capability, flavour, "windows" if is_wsl(s) else "linux")
        if grade.grade == "unknown":
            lack = NeedsFact("matrix", Missing("absent", grade.reason))
        yield Graded(key, name, capability, grade)
    if lack:
        raise lack


def on_disk(s: Snapshot) -> str:
    """The version of a driver that is installed and not loaded; '' if one is loaded, or in a container."""
    d = s.driver
    if not known(d.pci_devices) or known(d.modules) is None:
        return ""  # a text: what it leaves out may be loaded
    if known(d.version) is not None or container_kind(s) or is_wsl(s) or module_loaded(s) is not False:
        return ""
    files = [known(file.version) for file in real_libcudas(s)]
    if known(d.libcuda_stub) is not True and not known(s.container.compat):
        files.append(known(d.libcuda_version))
    return next((version for version in (*files, known(d.nvml_library_version)) if version), "")


def _gpus(s: Snapshot, m: Matrix) -> Iterator[tuple[str, str, str, str | Missing]]:
    for g in known(s.gpus) or ():
        yield g.key, known(g.pci_address) or "", known(g.name) or "GPU", g.compute_capability
    for card in nvidia_cards(s) or ():
        if isinstance(card.driver, str) and card.driver != "nvidia":
            continue  # held by another driver: not this one's matter
        row = m.gpu(pci_device_id=card.device)
        names = {r.name for r in row.rows}
        name = row.rows[0].name if len(names) == 1 else f"PCI device 10de:{card.device}"
        listed = Missing("absent", f"PCI device 10de:{card.device} is not listed in this matrix")
        yield card.address, card.address, name, row.capability or listed
