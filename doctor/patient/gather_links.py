"""Part of the gatherer: how GPUs and RDMA cards hang on the PCIe tree, from sysfs.

Lines: pcie {address, path, numa, cpus, nic?, iommu, acs}: path is the device's folder with all links resolved; iommu
the type of its IOMMU group, empty where it has none; acs [address, register] of each bridge above it: its ACS control
register, 0 without one, null where only root may read it. A text is null where it cannot be read.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .files import Files
from .path_words import clean

DEVICES = "/sys/bus/pci/devices"
_RDMA = "/sys/class/infiniband"
_CONFIG_BYTES = 4096
_EXTENDED = 0x100
_ACS = 0x0D
_MAX_CAPABILITIES = 64
_MAX_BRIDGES = 16


def gather_links(files: Files, gpus: List[str]) -> None:
    """Emit a line for each of these GPUs' addresses and for each RDMA card, where there are two devices at least."""
    if not gpus:
        return
    try:
        nics = files.first(sorted(files.listed(_RDMA)), 64, "rdma-cards", _RDMA)
    except (OSError, ValueError):
        nics = []
    if len(gpus) + len(nics) < 2:
        return
    registers: Dict[str, Optional[int]] = {}
    for address in gpus:
        _device(files, DEVICES + "/" + address, "", registers)
    for nic in nics:
        _device(files, _RDMA + "/" + nic + "/device", nic, registers)


def _device(files: Files, folder: str, nic: str, registers: Dict[str, Optional[int]]) -> None:
    path = files.resolved(folder)
    parts = path.split("/")
    line: Dict[str, Any] = {"at": "pcie", "address": clean(parts[-1]), "path": clean(path)}
    for name, leaf in (("numa", "numa_node"), ("cpus", "local_cpulist")):
        text = files.peek(path + "/" + leaf, 4096)
        line[name] = None if text is None else clean(text.strip())
    if nic:
        line["nic"] = clean(nic)
    kind = files.peek(path + "/iommu_group/type", 64)
    line["iommu"] = clean(kind.strip()) if kind is not None else None if files.kind(path + "/iommu_group") else ""
    bridges = _bridges(parts)
    for bridge, above in bridges:
        if bridge not in registers:
            registers[bridge] = _acs_control(files.peek_bytes(above + "/config", _CONFIG_BYTES))
    line["acs"] = [[clean(bridge), registers[bridge]] for bridge, _ in bridges]
    files.emit(line)


def _bridges(parts: List[str]) -> List[Tuple[str, str]]:
    """(address, folder) of each bridge above a device, from the host bridge down."""
    at = next((n for n, part in enumerate(parts) if part.startswith("pci") and ":" in part), None)
    if at is None:
        return []
    middle = range(at + 1, len(parts) - 1)
    return [(parts[n], "/".join(parts[: n + 1])) for n in middle][:_MAX_BRIDGES]


def _acs_control(config: bytes) -> Optional[int]:
    """The control register of a bridge's ACS capability (PCI Express Base Specification, 7.7.11); 0 without one."""
    if len(config) <= _EXTENDED:
        return None
    at = _EXTENDED
    for _ in range(_MAX_CAPABILITIES):
        if at < _EXTENDED or at + 8 > len(config):
            break
        header = int.from_bytes(config[at : at + 4], "little")
        if header & 0xFFFF == _ACS:
            return int.from_bytes(config[at + 6 : at + 8], "little")
        at = header >> 20
    return 0
