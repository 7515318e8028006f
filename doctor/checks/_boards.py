"""What kind of board a GPU is according to the matrix: what all products that it could be have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fixes.where import container_kind
from ..snapshot import Gpu, Snapshot, known

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.rows_gpu import Gpu as Row

SLOT_W = 75
"""What a PCIe slot supplies; a board that needs more has a power connector."""
_VGPU = (2, 3, 4)


def rows_of(m: Matrix, gpu: Gpu) -> tuple[Row, ...]:
    """The products that this GPU may be; empty if the matrix does not list it."""
    return m.gpu(
        known(gpu.name), known(gpu.pci_device_id), known(gpu.pci_subsystem_id), known(gpu.memory_total_mib)
    ).rows


def every(rows: tuple[Row, ...], field: str, *beginnings: str) -> bool:
    """Whether that field of every row begins with one of the words; False without rows."""
    return bool(rows) and all(getattr(row, field).startswith(beginnings) for row in rows)


def is_laptop(m: Matrix, gpu: Gpu) -> bool:
    """A laptop's GPU, whose limits follow battery and chassis. Workstation boards have a Max-Q edition too."""
    name = (known(gpu.name) or "").replace("Max-Q Workstation", "")
    return any(word in name for word in ("Laptop", "Max-Q", "Mobile")) or every(
        rows_of(m, gpu), "form_factor", "laptop", "MXM"
    )


def has_power_sockets(s: Snapshot, m: Matrix, gpu: Gpu) -> bool:
    """A PCIe board with its own power cable that somebody at this machine can reach."""
    watts = known(gpu.power_default_w)
    here = not container_kind(s) and known(s.host.virtualization) in (None, "none")
    board = every(rows_of(m, gpu), "form_factor", "PCIe") and not is_laptop(m, gpu)
    return here and board and watts is not None and watts > SLOT_W


def is_superchip(m: Matrix, gpu: Gpu) -> bool:
    """Memory and link are shared with a CPU next to it: Grace superchips, Jetson, GB10."""
    if known(gpu.integrated) is True:
        return True
    name = known(gpu.name) or ""
    forms = ("Grace", "SoC", "SoM", "DGX Station", "SXM / Vera")
    return any(word in name for word in ("GH200", "GB200", "GB300", "GB10")) or every(
        rows_of(m, gpu), "form_factor", *forms
    )


def is_vgpu(gpu: Gpu) -> bool:
    """A virtual GPU: its readings are the hypervisor's."""
    return known(gpu.virtualization_mode) in _VGPU
