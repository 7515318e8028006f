"""A kernel module that should be loaded but is not: shared by the checks that say why."""

from __future__ import annotations

from ..findings import Skip
from ..fixes.where import container_kind
from ..snapshot import Missing, Snapshot, known, need
from ._seen import is_wsl, need_module_loaded, not_on_pci, nvidia_cards


def is_loaded(s: Snapshot) -> bool:
    """Whether the module is loaded; skips unless this is a host with a card and driver libraries."""
    if is_wsl(s):
        raise Skip("WSL: the kernel module is part of Windows")
    need("container.kind", s.container.kind)
    if container_kind(s):
        raise Skip("in a container: kernel modules belong to the host")
    if nvidia_cards(s) == []:
        raise not_on_pci(s)
    if need_module_loaded(s):
        return True
    d = s.driver
    if known(d.nvml_library_path) is None and known(d.libcuda_path) is None:
        if isinstance(d.nvml_library_path, Missing) and d.nvml_library_path.reason != "absent":
            need("driver.nvml_library_path", d.nvml_library_path)
        raise Skip("the driver is not installed", without="gpu")
    return False
