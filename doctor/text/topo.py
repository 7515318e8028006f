"""`nvidia-smi topo -m`: how many GPUs there are, and what connects each pair of them."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_LEVELS = {"PIX": 10, "PXB": 20, "PHB": 30, "NODE": 40, "SYS": 50, "SOC": 50}
"""As NVML numbers them (nvmlGpuTopologyLevel_t); SOC is the older name of SYS."""
_NVLINKS = lazy(r"NV(\d{1,2})")
_GPU = lazy(r"GPU(\d{1,3})")
_MOST_GPUS = 256
_MOST_ROWS = 1024


def read_topo(lines: list[Line]) -> Iterator[Statement]:
    """A GPU for each row, and a `pair` (its index, the other's, level, NVLinks) for each cell above the diagonal."""
    columns: list[int] = []
    rows = 0
    for line in lines:
        if "GPU" not in line.text[:24]:
            continue
        cells = line.text.split()
        if not (name := _GPU.fullmatch(cells[0])):
            continue
        if "Affinity" in cells or (len(cells) > 1 and _GPU.fullmatch(cells[1])):
            columns = []
            for cell in cells[:_MOST_GPUS]:
                if not (found := _GPU.fullmatch(cell)):
                    break
                columns.append(int(found[1]))
        elif columns and len(cells) > len(columns) and cells[1 + _at(columns, int(name[1]))] == "X":
            row, rows = int(name[1]), rows + 1
            if rows > _MOST_ROWS:
                return
            yield say("gpu", {"index": row, "name": None, "count": 1, "vendor": "nvidia"}, line)
            for column, cell in zip(columns, cells[1:], strict=False):
                if column > row and cell in _LEVELS:
                    yield say("pair", (row, column, _LEVELS[cell], 0), line)
                elif column > row and (joined := _NVLINKS.fullmatch(cell)):
                    yield say("pair", (row, column, None, int(joined[1])), line)


def _at(columns: list[int], index: int) -> int:
    """The column of this GPU; of one that has none, the row's own name: no X stands there."""
    return columns.index(index) if index in columns else -1
