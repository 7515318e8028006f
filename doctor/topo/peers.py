"""The matrix of `nvidia-smi topo -p2p`: which GPUs may read, write or update each other's memory."""

from __future__ import annotations

from msgspec import Struct

from .pasted import Garbled, rows_of

WHY = {
    "CNS": "the chipset does not support it",
    "GNS": "the GPU does not support it",
    "TNS": "the I/O hub between them does not support it",
    "DR": "switched off in the driver's settings",
    "NS": "not supported",
    "U": "unknown",
}
"""nvidia-smi's words for nvmlGpuP2PStatus_t."""


class Peers(Struct, frozen=True, kw_only=True):
    """gpus: in the table's order; cells: X, OK or a word of WHY; verdict: sentences."""

    gpus: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    verdict: tuple[str, ...]


def parse_peers(text: str) -> Peers | None:
    """The matrix in this text; None if its cells are not those of -p2p. Raises Garbled."""
    names: list[str] = []
    rows: dict[str, list[str]] = {}
    for number, cells in rows_of(text):
        if cells and all(cell.startswith("GPU") for cell in cells) and len(cells) > 1:
            if names:
                raise Garbled(f"line {number}: a second table begins; paste one table at a time")
            names = cells
        elif names and cells and cells[0] in names and cells[0] not in rows:
            rows[cells[0]] = cells[1:]
    found = {cell for row in rows.values() for cell in row} - {"X"}
    if not found or not found <= {"OK", *WHY}:
        return None
    lost = next((name for name in names if len(rows.get(name, ())) != len(names)), "")
    if lost:
        raise Garbled(f"{lost} has {len(rows.get(lost, ()))} of {len(names)} columns: the text is cut off")
    return Peers(gpus=tuple(names), cells=tuple(tuple(rows[name]) for name in names), verdict=_verdict(names, rows))


def _verdict(names: list[str], rows: dict[str, list[str]]) -> tuple[str, ...]:
    without: dict[str, list[str]] = {}
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            if j > i and rows[one][j] in WHY:
                without.setdefault(rows[one][j], []).append(f"{one} and {other}")
    if not without:
        return (("All GPUs have peer access to each other (nvidia-smi topo -p2p). This is not a table of links: "
                "nvidia-smi topo -m shows those."),)  # fmt: skip
    return tuple(
        f"No peer access between {', '.join(pairs[:4])}{f' and {len(pairs) - 4} more pairs' * (len(pairs) > 4)}: "
        f"{WHY[word]}. Their traffic goes through the host's memory."
        for word, pairs in without.items()
    )
