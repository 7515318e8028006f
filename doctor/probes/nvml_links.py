"""The other ends of NVLinks, and PCI addresses as the kernel writes them."""

from __future__ import annotations

from typing import Any

from ..snapshot import Missing
from .nvml_health import UNREADABLE

_SWITCH = 2
"""nvmlIntNvLinkDeviceType_t."""


def link_ends(value: Any) -> list[tuple[str, int]] | Missing:
    """(PCI address, NVML's number for what is there) at the other end of each link that is up."""
    if isinstance(value, Missing):
        return value
    try:
        return [(pci_address(bus), kind) for bus, kind in value]
    except (TypeError, ValueError, AttributeError):
        return UNREADABLE


def to_switch(value: Any) -> int | Missing:
    """Of these links, those that end at an NVSwitch."""
    ends = link_ends(value)
    return ends if isinstance(ends, Missing) else sum(kind == _SWITCH for _, kind in ends)


def pci_address(bus_id: str) -> str:
    """`00000000:65:00.0` as the kernel writes it, `0000:65:00.0`; a domain above 16 bits as `10000:65:00.0`."""
    domain, colon, rest = bus_id.lower().partition(":")
    return (domain.lstrip("0").rjust(4, "0") if len(domain) == 8 else domain) + colon + rest
