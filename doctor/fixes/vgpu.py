"""Fixes of virtual GPUs."""

from __future__ import annotations

from msgspec.structs import replace

from ..findings import Fix
from ..snapshot import Snapshot, known
from .driver import other_host
from .place import container_kind, cuda_changes, on_host, sudo


def license_vgpu(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Give the virtual machine its licence."""
    root = sudo(s)
    gpus = tuple(replace(g, vgpu_licensed=True) if g.key == key else g for g in known(s.gpus) or ())
    fix = Fix(
        id="license-vgpu",
        title="Give the virtual GPU its licence" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(s, "Put the client token of your licence server (or provider) into /etc/nvidia/ClientConfigToken, "
                    "then restart the licence client and see what it says.",
                    f"{root}systemctl restart nvidia-gridd && nvidia-smi -q | grep -i license",
                    cuda_changes(gpus=gpus)),
        ),
        source="docs.nvidia.com/vgpu: client licensing",
    )  # fmt: skip
    return (other_host(s, "whose virtual GPUs have their licence"), fix) if container_kind(s) else (fix,)
