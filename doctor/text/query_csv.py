"""`nvidia-smi --query-gpu=... --format=csv`: columns from the header, from the command line, or from the values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import values
from .gpus import MOST_GPUS
from .statement import Line, Statement, say

_COLUMNS = {
    "name": "name", "gpu_name": "name", "uuid": "uuid", "gpu_uuid": "uuid", "index": "index",
    "driver_version": "driver", "compute_cap": "compute_capability", "memory.total": "memory_total_mib",
    "memory.used": "memory_used_mib", "compute_mode": "compute_mode", "mig.mode.current": "mig_enabled",
    "ecc.mode.current": "ecc_enabled", "ecc.mode.pending": "ecc_pending", "temperature.gpu": "temperature_c",
    "pci.bus_id": "pci_address", "gpu_bus_id": "pci_address",
}  # fmt: skip
_NUMBERS = ("memory_total_mib", "memory_used_mib", "temperature_c", "index")
_FLAGS = ("mig_enabled", "ecc_enabled", "ecc_pending")
_COMMAND = r"--query-gpu[= ]([\w.,]{2,400})"
"""Patterns are compiled when they are used: few texts need them."""
_MAKERS = ("NVIDIA ", "Tesla ", "Quadro ", "GeForce ", "GRID ", "TITAN ", "Orin", "Graphics Device")
"""How nvidia-smi's names begin."""
_MIB = r"(\d{1,7}) MiB"
_UNIT = r"-?[\d.]{1,12} (?:MiB|W|%|MHz)"
_LONG_DRIVER = r"[3-9]\d\d\.\d{2,3}\.\d{2}"
_SHORT_DRIVER = r"[3-9]\d\d\.\d{2,3}"
_OTHERS = (
    ("uuid", r"GPU-[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}"),
    ("pci_address", r"[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d"),
    ("compute_capability", r"(?:[3-9]|1[0-2])\.\d"),
    ("compute_mode", r"Default|Exclusive_Process|Exclusive_Thread|Prohibited"),
)
_PLAIN = r"[\w.:%/ +-]{0,60}|\[[\w /.-]{2,40}\]"


def read_csv(lines: list[Line]) -> Iterator[Statement]:
    """Statements of each row; a row without known columns counts where it can be nothing else."""
    columns: list[str] = []
    row_number = 0
    for line in lines:
        text = line.text
        if "--query-gpu" in text and (found := re.search(_COMMAND, text)):
            columns = [_COLUMNS.get(word, "") for word in found[1].split(",")] if "noheader" in text else []
            row_number = 0
            continue
        comma = "," in text and len(text) <= 800
        if not comma and len(columns) != 1:
            columns = []
            continue
        if not columns and not _worth(text):
            continue
        cells = [cell.strip().strip('"') for cell in text.split(",")]
        names = [_COLUMNS.get(cell.partition(" [")[0].lower(), "") for cell in cells]
        if comma and sum(map(bool, names)) * 2 > len(names):
            columns, row_number = names, 0
            continue
        if not _matches(columns, cells):
            columns = _by_values(cells, row_number) if comma else []
        if columns and row_number < MOST_GPUS:
            yield from _row(columns, cells, row_number, line)
            row_number += 1


def _worth(text: str) -> bool:
    """Whether the line may be a header or a row of values: cheap, as every line of a log with a comma is asked."""
    return (
        "name" in text
        or "driver_version" in text
        or "uuid" in text
        or "compute_cap" in text
        or "memory." in text
        or "bus_id" in text
        or "index" in text
        or "temperature.gpu" in text
        or any(maker in text for maker in _MAKERS)
    )


def _matches(columns: list[str], cells: list[str]) -> bool:
    """Whether the cells can be a row of these columns: other tables have names and indices too."""
    if len(cells) != len(columns):
        return False
    for column, cell in zip(columns, cells, strict=True):
        if column == "name" and not cell.startswith((*_MAKERS, "[")):
            return False
        if column == "driver" and not (cell.startswith("[") or re.match(_SHORT_DRIVER, cell)):
            return False
    return True


def _row(columns: list[str], cells: list[str], row_number: int, line: Line) -> Iterator[Statement]:
    fields: dict[str, object] = {"index": row_number, "name": None, "count": 1, "vendor": "nvidia"}
    for column, cell in zip(columns, cells, strict=True):
        if not cell or "[" in cell:
            continue
        if column == "driver":
            if version := values.driver(cell):
                yield say("driver.nvml_driver_version", version, line)
        elif column in _NUMBERS:
            if (size := values.number(cell)) is not None:
                fields[column] = size
        elif column in _FLAGS:
            if (flag := values.yes_no(cell)) is not None:
                fields[column] = flag
        elif column == "pci_address":
            fields[column] = f"0000:{cell[-7:].lower()}"
        elif column == "compute_mode":
            fields[column] = cell.lower().replace("_", "-")
        elif column == "compute_capability":
            if capability := values.capability(cell):
                fields[column] = capability
        elif column:
            fields[column] = cell[:100]
    if set(columns) != {"driver"}:
        yield say("gpu", fields, line)


def _by_values(cells: list[str], row_number: int) -> list[str]:
    """The columns of a row without a header; [] unless it has one GPU's name and one value that only it prints."""
    names = [i for i, cell in enumerate(cells) if cell.startswith(_MAKERS)]
    if len(names) != 1 or not all(re.fullmatch(_PLAIN, cell) for cell in cells):
        return []
    found = [""] * len(cells)
    found[names[0]] = "name"
    units = any(re.fullmatch(_UNIT, cell) for cell in cells)
    sizes = {i: int(size[1]) for i, cell in enumerate(cells) if (size := re.fullmatch(_MIB, cell))}
    for i, cell in enumerate(cells):
        # without units 350.00 may be watts
        if re.fullmatch(_LONG_DRIVER, cell) or (units and re.fullmatch(_SHORT_DRIVER, cell)):
            found[i] = "driver" if "driver" not in found else ""
        else:
            kind = next((kind for kind, pattern in _OTHERS if re.fullmatch(pattern, cell)), "")
            found[i] = found[i] or (kind if kind not in found else "")
    if len(sizes) > 1 or (sizes and _marketed(cells[names[0]], *sizes.values())):
        found[max(sizes, key=lambda i: sizes[i])] = "memory_total_mib"
    if cells[0] == str(row_number):
        found[0] = "index"
    return found if sizes or any(kind in found for kind in ("driver", "uuid", "pci_address")) else []


def _marketed(name: str, mib: int) -> bool:
    """Whether the size is the one in the name: a lone figure may be what is used or free."""
    size_in_name = re.search(r"([1-9]\d{0,2}) ?GB", name)
    return size_in_name is not None and 0.9 < mib / 1024 / int(size_in_name[1]) < 1.02
