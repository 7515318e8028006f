"""Fixes for virtual GPUs."""

from __future__ import annotations

from ..findings import Fix
from ..snapshot import Snapshot, known
from .driver import other_host
from .gpu_state import gpu_changes
from .where import container_kind, cuda_changes, guest, host_sudo, on_host

_LINUX = "/etc/nvidia/ClientConfigToken"
_WINDOWS = r"C:\Program Files\NVIDIA Corporation\vGPU Licensing\ClientConfigToken"


def license_vgpu(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Give the virtual machine its license."""
    root, windows = host_sudo(s), known(s.host.system) == "windows"
    fix = Fix(
        id="license-vgpu",
        title="License the virtual GPU" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "Put the client token of your license server (or provider) into "
                f"{_WINDOWS if windows else _LINUX}, then restart the license client and check its status.",
                "Restart-Service NVDisplay.ContainerLocalSystem\nnvidia-smi -q | Select-String License"
                if windows
                else f"{root}systemctl restart nvidia-gridd && nvidia-smi -q | grep -i license",
                cuda_changes(**gpu_changes(s, key, vgpu_licensed=True)),
            ),
        ),
        source="docs.nvidia.com/vgpu: client licensing",
    )
    return (other_host(s, "whose virtual GPUs are licensed"), fix) if guest(s) else (fix,)
