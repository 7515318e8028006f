"""What the NVIDIA kernel driver and sysfs say in text: /proc/driver/nvidia, /proc/modules, PCI device files."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from .lazy import lazy

_NVRM = lazy(r"^NVRM version:\s*(.*)$", re.MULTILINE)
_VERSION = lazy(r"(?<![\w.])(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)(?![\w.])", re.ASCII)
_UNKNOWN = lazy(r"^(?:N/A|(?:GPU-)?[?.-]+)$")
_GTS = lazy(r"\s*(\d+(?:\.\d+)?) ?GT/s")


class KernelDriver(NamedTuple):
    """The loaded nvidia.ko. ``flavour``: ``open`` or ``proprietary``; ``line``: as the module says it."""

    version: Optional[str]
    flavour: str
    line: str


class GpuInformation(NamedTuple):
    """One /proc/driver/nvidia/gpus/*/information; None: absent, or question marks (GPU not initialised)."""

    model: Optional[str]
    uuid: Optional[str]
    bus_location: Optional[str]
    minor: Optional[int]
    vbios: Optional[str]
    firmware: Optional[str]
    excluded: Optional[bool]


class Module(NamedTuple):
    """One line of /proc/modules; ``name`` with underscores, ``used_by`` names of modules."""

    name: str
    size: int
    references: int
    used_by: Tuple[str, ...]
    state: str


class PciDevice(NamedTuple):
    """One PCI function from its sysfs files; ids are numbers, None: unreadable."""

    address: str
    vendor: Optional[int]
    device: Optional[int]
    subsystem_vendor: Optional[int]
    subsystem_device: Optional[int]
    pci_class: Optional[int]
    revision: Optional[int]
    driver: Optional[str]
    numa_node: Optional[int]
    link_speed_gts: Optional[float]
    link_width: Optional[int]
    max_link_speed_gts: Optional[float]
    max_link_width: Optional[int]

    @property
    def is_display(self) -> bool:
        """VGA, XGA, 3D or other display controller (class 03)."""
        return self.pci_class is not None and self.pci_class >> 16 == 0x03


def parse_driver_version(text: str) -> Optional[KernelDriver]:
    """/proc/driver/nvidia/version; None where it is not that file."""
    match = _NVRM.search(text[:8192])
    if not match:
        return None
    line = match.group(1).strip()
    version = _VERSION.search(line)
    return KernelDriver(
        version.group(1) if version else None, "open" if "Open Kernel Module" in line else "proprietary", line
    )


def parse_gpu_information(text: str) -> GpuInformation:
    """Lines of ``Key: value``; what is missing is None."""
    values: Dict[str, str] = {}
    for line in text[:8192].splitlines():
        key, colon, value = line.partition(":")
        value = value.strip()
        if colon and value and not _UNKNOWN.match(value):
            values.setdefault(key.strip().lower(), value)
    minor = values.get("device minor", "")
    excluded = values.get("gpu excluded", values.get("blacklisted", "")).lower()
    return GpuInformation(
        values.get("model"),
        values.get("gpu uuid"),
        values.get("bus location"),
        int(minor) if _is_number(minor) else None,
        values.get("video bios"),
        values.get("gpu firmware"),
        {"yes": True, "no": False}.get(excluded),
    )


def parse_modules(text: str) -> List[Module]:
    """/proc/modules; lines that are no such line are skipped."""
    found = []
    for line in text.splitlines()[:4096]:
        words = line.split()
        if len(words) < 5 or not (_is_number(words[1]) and _is_number(words[2][words[2][:1] == "-" :])):
            continue
        used = () if words[3] == "-" else tuple(name for name in words[3].split(",") if name)
        found.append(Module(words[0], int(words[1]), int(words[2]), used, words[4]))
    return found


def pci_device(address: str, files: Mapping[str, str]) -> PciDevice:
    """One device from the text of its sysfs files, by file name (``vendor``, ``device``, ``class``, ``uevent`` ...)."""
    driver = re.search(r"^DRIVER=(\S+)$", files.get("uevent", ""), re.MULTILINE)

    def number(name: str) -> Optional[int]:
        text = files.get(name, "").strip()
        try:
            return int(text, 0) if len(text) < 20 else None
        except ValueError:
            return None

    def speed(name: str) -> Optional[float]:
        match = _GTS.match(files.get(name, ""))
        return float(match.group(1)) if match and len(match.group(1)) < 12 else None

    def width(name: str) -> Optional[int]:
        value = number(name)
        return value if value is not None and 0 < value <= 64 else None  # 0 and 255: link down or unknown

    node = number("numa_node")
    return PciDevice(
        address,
        number("vendor"),
        number("device"),
        number("subsystem_vendor"),
        number("subsystem_device"),
        number("class"),
        number("revision"),
        driver.group(1) if driver else None,
        node if node is not None and node >= 0 else None,
        speed("current_link_speed"),
        width("current_link_width"),
        speed("max_link_speed"),
        width("max_link_width"),
    )


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 20
