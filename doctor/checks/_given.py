"""What this container was given, for the checks that judge how it was started."""

from __future__ import annotations

from msgspec import Struct

from ..snapshot import Snapshot, known, need
from ._seen import absent, module_loaded, nodes_of, nvidia_cards


class Given(Struct, frozen=True):
    """nodes: GPU nodes are there; nvml, libcuda: that library is found; host: the host has a driver (None: unknown)."""

    nodes: bool
    nvml: bool
    libcuda: bool
    host: bool | None


def given(s: Snapshot) -> Given:
    """Nodes and libraries that this container has; UNKNOWN if /dev was not read."""
    need("driver.device_nodes", s.driver.device_nodes)
    libcuda = not absent(s.driver.libcuda_path) and known(s.driver.libcuda_stub) is not True
    host = True if known(s.host.wsl) == 2 else module_loaded(s)
    if host is None and nvidia_cards(s):
        host = True
    return Given(
        nodes=bool(nodes_of(s, "gpu", "dxg", "tegra")),
        nvml=not absent(s.driver.nvml_library_path),
        libcuda=libcuda,
        host=host,
    )


def not_there(found: Given) -> str:
    """The names of what is missing, joined for a sentence."""
    return ", ".join(
        word
        for there, word in ((found.nodes, "device nodes"), (found.libcuda, "libcuda"), (found.nvml, "libnvidia-ml"))
        if not there
    )
