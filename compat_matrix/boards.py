"""Boards missing from the table of GPUs: old, laptop and entry-level ones, by name and PCI device, for their compute
capability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .code import compute_capability
from .rows_gpu import Board, Gpu
from .versions import numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import Store

    Split = Callable[[str], tuple[str, ...]]

_SEGMENT = (
    ("Quadro", "workstation"),
    ("RTX ", "workstation"),
    ("H100", "datacenter"),
    ("Tesla", "datacenter"),
    ("GRID", "datacenter"),
)
_COMPAT = {"consumer": "no", "workstation": "selected", "datacenter": "yes"}


def boards(m: Store, words: tuple[str, ...], device: str | None, split: Split) -> tuple[Gpu, ...]:
    """Rows like those in the table of GPUs, for these words of a name (as `split` makes them) or this PCI device."""
    by_words: dict[tuple[str, ...], list[Board]] = m.memo("boards by words", lambda: _index(m, split))
    named = by_words.get(words, []) if words else []
    there = [row for row in m.boards if device in row.device_ids] if device else []
    both = [row for row in named if row in there]
    return tuple(_row(m, row) for row in both or there or named)


def boards_like(m: Store, words: set[str], split: Split) -> tuple[Gpu, ...]:
    """Every board whose name contains these words."""
    by_words: dict[tuple[str, ...], list[Board]] = m.memo("boards by words", lambda: _index(m, split))
    return tuple(_row(m, row) for own, rows in by_words.items() if words.issubset(own) for row in rows)


def _index(m: Store, split: Split) -> dict[tuple[str, ...], list[Board]]:
    index: dict[tuple[str, ...], list[Board]] = {}
    for row in m.boards:
        index.setdefault(split(row.name), []).append(row)
    return index


def _row(m: Store, row: Board) -> Gpu:
    level = compute_capability(m, row.cc)
    segment = next((segment for word, segment in _SEGMENT if row.name.startswith(word)), "consumer")
    return Gpu(
        id=f"{row.name} {row.cc}",
        name=row.name,
        architecture=level.architecture if level else "",
        chip=row.chips[0],
        cc=row.cc,
        device_ids=row.device_ids,
        segment=segment,
        forward_compat=_COMPAT[segment] if row.name.startswith("GeForce") or numbers(row.cc) < (7, 5) else "unknown",
        open_module=level.open_module if level else "supported",
        source=row.source,
        confidence=row.confidence,
    )
