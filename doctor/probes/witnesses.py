"""Which files speak of which fact, for those facts that several witnesses speak of."""

from __future__ import annotations

from .raw import Raw, string

_FILES = {
    "driver.kernel_version": ("/proc/driver/nvidia/version", "/sys/module/nvidia/version"),
    "host.memory_total_mib": ("/proc/meminfo",),
    "host.kernel": ("/proc/version",),
    "host.os_name": ("/etc/os-release",),
}
_FOLDERS = {
    "driver.device_nodes": "/dev",
    "driver.pci_devices": "/sys/bus/pci/devices",
    "driver.pcie_paths": "/sys/bus/pci/devices",
    "driver.modules": "/sys/module",
    "driver.proc_gpus": "/proc/driver/nvidia/gpus",
}


def file_witnesses(raw: Raw) -> dict[str, tuple[str, ...]]:
    """Fact path to the files that were read for it."""
    found: dict[str, tuple[str, ...]] = {}
    cache = tuple(string(row.get("path")) for row in raw.rows("ldcache"))
    if cache:
        found["cuda.libraries"] = cache
    for fact, paths in _FILES.items():
        read = tuple(path for path in paths if isinstance(raw.text(path), str))
        if read:
            found[fact] = read
    for fact, path in _FOLDERS.items():
        if isinstance(raw.names(path), tuple) or raw.exists(path) is True:
            found[fact] = (path,)
    torch = raw.row("torch")
    if isinstance(torch, dict):
        folder = string(torch.get("path"))
        found["torch.version"] = found["torch.build"] = (folder + "/version.py",)
        code = tuple(string(row.get("path")) for row in raw.rows("code") if row.get("package") == "torch")
        if code:
            found["torch.sass"] = found["torch.ptx"] = code
    return found
