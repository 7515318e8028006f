"""Which product a GPU is, from PCI device id, subsystem, name and memory together; a name alone may mean several."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from .rows_gpu import Gpu

if TYPE_CHECKING:
    from .store import Store

_MIG = r"(?i)\s+MIG\s+\d+[cg]\.\S+$"
_UUID = r"\s*\(UUID:[^)]*\)\s*$"
_VGPU = r"^(.*?)(?:-\d+)?-\d+[QABC]$"
_VENDOR = {"nvidia", "geforce", "tesla", "grid", "gpu", "graphics"}


class GpuMatch(msgspec.Struct, frozen=True):
    """rows: candidates, best first; exact: one product, no contradictions; reason: how it was found.

    capability: the compute capability if all candidates agree, else ''.
    """

    rows: tuple[Gpu, ...]
    exact: bool
    reason: str

    @property
    def capability(self) -> str:
        found = {row.cc for row in self.rows if row.cc}
        return found.pop() if len(found) == 1 else ""


def pci_id(value: str | int | None) -> str | None:
    """A PCI id as four upper-case hex digits: '0x2330', '2330', 0x2330 and NVML's 0x233010DE (device in the upper
    half) -> '2330'; None when unreadable."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().lower().removeprefix("0x")
        if not re.fullmatch(r"[0-9a-f]{1,8}", text):
            return None
        value = int(text, 16)
    if value < 0 or value > 0xFFFFFFFF:
        return None
    return f"{value >> 16 if value > 0xFFFF else value:04X}"


def subsystem_id(value: str | int | None) -> str | None:
    """A subsystem as 'VENDOR:DEVICE' in hex: NVML's 0x16C110DE (device in the upper half), '10de:16c1',
    '0x16c110de'."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().upper().replace("0X", "")
        if re.fullmatch(r"[0-9A-F]{4}:[0-9A-F]{4}", text):
            return text
        if not re.fullmatch(r"[0-9A-F]{5,8}", text):
            return None
        value = int(text, 16)
    return f"{value & 0xFFFF:04X}:{value >> 16 & 0xFFFF:04X}" if 0 < value <= 0xFFFFFFFF else None


def plain_name(name: str) -> str:
    """The board's name without a MIG profile or a UUID in brackets."""
    return re.sub(_MIG, "", re.sub(_UUID, "", name.strip())).strip()


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[\s\-/()]+", name.casefold()) if word and word not in _VENDOR)


def gpu(
    m: Store,
    name: str | None = None,
    pci_device_id: str | int | None = None,
    pci_subsystem_id: str | int | None = None,
    memory_mib: int | None = None,
) -> GpuMatch:
    """Find the product. Names are compared whole, never by prefix ('NVIDIA A10' is not 'NVIDIA A100')."""
    known: dict[tuple[object, ...], GpuMatch] = m.memo("gpu answers", dict)
    key = (name, pci_device_id, pci_subsystem_id, memory_mib)
    if key not in known:
        known[key] = _find(m, name, pci_device_id, pci_subsystem_id, memory_mib)
    return known[key]


def _find(
    m: Store,
    name: str | None,
    pci_device_id: str | int | None,
    pci_subsystem_id: str | int | None,
    memory_mib: int | None,
) -> GpuMatch:
    device, subsystem = pci_id(pci_device_id), subsystem_id(pci_subsystem_id)
    by_name, how = _by_name(m, name) if name else ((), "")
    by_device = tuple(row for row in m.gpus if device in row.device_ids) if device else ()
    if by_device:
        rows, reasons = by_device, [f"PCI device {device}"]
        named = tuple(row for row in rows if row in by_name)
        if named:
            rows = named
            reasons.append(how)
        elif by_name:
            return GpuMatch(rows, False, f"PCI device {device} and name {plain_name(name or '')!r} disagree")
        rows = _by_subsystem(rows, str(device), subsystem)
    elif by_name:
        rows, reasons = by_name, [how, *([f"PCI device {device} is not listed"] if device else [])]
    elif other := _others(m, _board_words(name), device):
        rows, reasons = other, ["short name" if device not in other[0].device_ids else f"PCI device {device}"]
    else:
        query = " / ".join(text for text in (name, device) if text)
        return GpuMatch((), False, f"{query or 'nothing'} is not listed in this matrix")
    if memory_mib and len(rows) > 1:
        rows = _by_memory(rows, memory_mib)
        reasons.append("memory")
    sure = len(rows) == 1 and rows[0].confidence != "memory"
    exact = sure and (bool(by_device) or (reasons[0] == "name" and not device))
    return GpuMatch(rows, exact, ", ".join(reasons) + ("" if len(rows) == 1 else f": {len(rows)} products"))


def _others(m: Store, words: tuple[str, ...], device: str | None) -> tuple[Gpu, ...]:
    from .boards import boards

    return boards(m, words, device, _words)


def _by_name(m: Store, name: str) -> tuple[tuple[Gpu, ...], str]:
    plain = plain_name(name)
    by_name: dict[str, list[Gpu]] = m.memo("gpus by name", lambda: _index(m))
    rows = by_name.get(plain.casefold(), [])
    if rows:
        return tuple(rows), "MIG instance of" if plain != name.strip() and re.search(_MIG, name) else "name"
    index: dict[tuple[str, ...], tuple[Gpu, ...]] = m.memo("gpus by words", lambda: _word_index(m))
    return index.get(_board_words(plain), ()), "vGPU of" if re.match(_VGPU, plain) else "short name"


def _board_words(name: str | None) -> tuple[str, ...]:
    """The words of a board's name; for a virtual GPU, those of its board."""
    plain = plain_name(name or "")
    board = re.match(_VGPU, plain)
    return _words(board[1] if board else plain)


def gpus_like(m: Store, name: str) -> GpuMatch:
    """Every product whose name contains these words, never exact: 'A100' in 'NVIDIA A100-SXM4-80GB'.

    For what people write about a board, not for what a driver reports: enough for a capability that all of them share.
    """
    wanted = set(_words(plain_name(name)))
    if not any(c.isdecimal() for word in wanted for c in word):
        return GpuMatch((), False, f"{name!r} is not a board name")
    index: dict[tuple[str, ...], tuple[Gpu, ...]] = m.memo("gpus by words", lambda: _word_index(m))
    rows = dict.fromkeys(row.id for words, found in index.items() if wanted.issubset(words) for row in found)
    from .boards import boards_like

    found = tuple(row for row in m.gpus if row.id in rows) or boards_like(m, wanted, _words)
    return GpuMatch(found, False, "part of the name")


def gpu_by_capability(m: Store, capability: str) -> tuple[Gpu, ...]:
    """Every listed GPU of a compute capability."""
    return tuple(row for row in m.gpus if capability and row.cc == capability)


def _word_index(m: Store) -> dict[tuple[str, ...], tuple[Gpu, ...]]:
    """Products by the words of their names and aliases, in the table's order."""
    index: dict[tuple[str, ...], tuple[Gpu, ...]] = {}
    for row in m.gpus:
        for words in {_words(name) for name in (row.name, *row.aliases)} - {()}:
            index[words] = (*index.get(words, ()), row)
    return index


def _index(m: Store) -> dict[str, list[Gpu]]:
    index: dict[str, list[Gpu]] = {}
    for row in m.gpus:
        index.setdefault(row.name.casefold(), []).append(row)
    return index


def _by_subsystem(rows: tuple[Gpu, ...], device: str, subsystem: str | None) -> tuple[Gpu, ...]:
    if subsystem is None or len(rows) < 2:
        return rows
    same = tuple(row for row in rows if f"{device}:{subsystem}" in row.subsystems)
    named = {text for row in rows for text in row.subsystems}
    if not same and named:
        same = tuple(row for row in rows if not row.subsystems or f"{device}:other" in row.subsystems)
    return same or rows


def _by_memory(rows: tuple[Gpu, ...], memory_mib: int) -> tuple[Gpu, ...]:
    """The rows whose memory is nearest; totals differ by ECC and driver, so within 12 % counts as the same."""

    def off(row: Gpu) -> float:
        sizes = [float(size) for size in row.memory_mib] or ([row.memory_gib * 1024] if row.memory_gib else [])
        return min((abs(size - memory_mib) / size for size in sizes), default=1.0)

    best = min(off(row) for row in rows)
    if best > 0.12:
        return rows
    return tuple(row for row in rows if off(row) <= best + 0.02)
