"""Display devices on the PCI bus, from each device's modalias in sysfs: a witness that needs no driver."""

from __future__ import annotations

from ..formats.lazy import lazy
from ..snapshot import Missing, PciDevice
from .raw import Raw, string

_BASE = "/sys/bus/pci/devices"
_ALIAS = lazy(
    r"pci:v0000([0-9A-F]{4})d0000([0-9A-F]{4})sv0000([0-9A-F]{4})sd0000([0-9A-F]{4})"
    r"bc([0-9A-F]{2})sc([0-9A-F]{2})i([0-9A-F]{2})"
)


def parse_pci(raw: Raw) -> tuple[PciDevice, ...] | Missing:
    """The devices; Missing(absent) where the list itself is not there or empty, which proves nothing."""
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
