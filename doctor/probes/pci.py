"""Display devices on the PCI bus and how they hang on it, from sysfs: a witness that needs no driver."""

from __future__ import annotations

from typing import Any

from ..formats.lazy import lazy
from ..snapshot import ABSENT, Missing, PciDevice, PciePath
from .raw import Raw, string

_BASE = "/sys/bus/pci/devices"
_ALIAS = lazy(
    r"pci:v0000([0-9A-F]{4})d0000([0-9A-F]{4})sv0000([0-9A-F]{4})sd0000([0-9A-F]{4})"
    r"bc([0-9A-F]{2})sc([0-9A-F]{2})i([0-9A-F]{2})"
)


def parse_pci(raw: Raw) -> tuple[PciDevice, ...] | Missing:
    """The devices; Missing(absent) if the list itself is not there or empty, which proves nothing."""
    total = raw.total(_BASE)
    if isinstance(total, Missing):
        return Missing("absent", "no PCI list here") if total.reason == "absent" else total
    if total == 0:
        return Missing("absent", "the PCI list is empty")
    found = []
    unread = 0
    for row in raw.rows("pci"):
        match = _ALIAS.match(string(row.get("modalias")))
        if not match:
            unread += 1
            continue
        vendor, device, sub_vendor, sub_device, base, sub, interface = (part.lower() for part in match.groups())
        driver = row.get("driver")
        found.append(
            PciDevice(
                address=string(row.get("address")).lower(),
                vendor=vendor,
                device=device,
                subsystem_vendor=sub_vendor,
                subsystem_device=sub_device,
                class_code=base + sub + interface,
                driver=driver if isinstance(driver, str) else None,
            )
        )
    if not found and unread == total:
        return Missing("denied", "no PCI device could be read")
    return tuple(found)


_REQUEST_REDIRECT = 0x4
"""ACS control register, bit 2: P2P Request Redirect (PCI Express Base Specification, 7.7.11.3)."""


def parse_pcie_paths(raw: Raw) -> tuple[PciePath, ...] | Missing:
    """GPUs and RDMA cards on the PCIe tree; NOT_ASKED where the gatherer had fewer than two."""
    rows = list(raw.rows("pcie"))
    return tuple(_path(row) for row in rows) if rows else raw.unasked


def _path(row: dict[str, Any]) -> PciePath:
    parts = string(row.get("path")).split("/")
    at = next((n for n, part in enumerate(parts) if part.startswith("pci") and ":" in part), len(parts))
    numa, cpus, iommu = row.get("numa"), row.get("cpus"), row.get("iommu")
    node = int(numa) if isinstance(numa, str) and numa.isdecimal() else None
    return PciePath(
        address=string(row.get("address")).lower(),
        bridges=tuple(parts[at:-1]),
        nic=string(row.get("nic")),
        numa_node=node
        if node is not None
        else ABSENT
        if numa == "-1"
        else Missing("error", "numa_node is not readable"),
        cpus=cpus if isinstance(cpus, str) and cpus else ABSENT,
        iommu=iommu if isinstance(iommu, str) and iommu else ABSENT if iommu == "" else Missing("denied"),
        acs_redirects=_redirects(row.get("acs")),
    )


def _redirects(registers: object) -> tuple[str, ...] | Missing:
    pairs = [pair for pair in registers if isinstance(pair, list)] if isinstance(registers, list) else []
    known = [pair for pair in pairs if len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], int)]
    if len(known) < len(pairs) or not isinstance(registers, list):
        return Missing("denied", "only root can read the bridges' registers")
    return tuple(address for address, value in known if value & _REQUEST_REDIRECT)
