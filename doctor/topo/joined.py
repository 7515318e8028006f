"""What a table's NVLinks connect: the rings that a collective uses, and islands without NVLink between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .matrix import Table
from .rings import Ring, islands, rings

if TYPE_CHECKING:
    from compat_matrix.rows_gpu import GpuSpec


def table_rings(table: Table, spec: GpuSpec | None) -> Ring | None:
    """Rings over links that lead from GPU to GPU; through switches each two GPUs have all links of both."""
    bonds = table.bonds()
    links = spec.nvlink_links if spec is not None and spec.nvlink_confidence != "memory" else None
    return rings(bonds) if links and all(sum(row) <= links for row in bonds) else None


def ring_rate(spec: GpuSpec, ring: Ring, slowest: str) -> tuple[float, str]:
    """GB/s one way that a collective gets from all rings, and how it comes about."""
    each = (spec.nvlink_total_gb_s or 0) / 2 / (spec.nvlink_links or 1)
    rate = ring.links * each
    words = (
        f"rings through all GPUs over {ring.links} NVLinks per GPU: {ring.links} x {each:g} = {rate:g} GB/s each way"
    )
    return rate, f"{words}, although the slowest pair is connected by {slowest}"


def joined_islands(table: Table) -> tuple[tuple[int, ...], ...]:
    """Empty if NVLink joins all GPUs, or none."""
    found = islands(table.bonds())
    return found if len(found) > 1 and any(len(one) > 1 for one in found) else ()


def island_words(table: Table, joined: tuple[tuple[int, ...], ...], slowest: str) -> str:
    """Which GPUs are joined, and how to split a model over them."""
    names = [device.name for device in table.devices if device.is_gpu]
    bonds = table.bonds()
    parts = []
    for island in joined:
        inside = [bonds[i][j] for i in island for j in island if i < j and bonds[i][j]]
        links = f" (NV{min(inside)})" if inside else ""
        parts.append(" and ".join(names[at] for at in island) + links if len(island) < 3 else
                     f"{names[island[0]]} to {names[island[-1]]}{links}" if island[-1] - island[0] == len(island) - 1
                     else ", ".join(names[at] for at in island) + links)  # fmt: skip
    return (
        f"NVLink connects the GPUs in islands: {'; '.join(parts)}. The link between the islands is {slowest}, so keep "
        f"tensor parallelism inside an island, and use pipeline or data parallelism between islands"
    )
