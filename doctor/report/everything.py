"""All facts of a Snapshot with their witnesses (-vv)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ..snapshot import Missing, Snapshot
from .blocks import show
from .lines import Line, Span, wrap

_MOST = 64
"""Items of one list that are shown: a rack has no more GPUs, a text may name thousands."""


def fact_lines(snapshot: Snapshot, width: int) -> list[Line]:
    """One row for each fact: its path, its value or why it is missing, and who says so, where that was noted."""
    rows: list[Line] = [(Span("All facts", "bold"),)]
    for path, value in walk(snapshot):
        sources = snapshot.witnesses.get(path) or snapshot.witnesses.get(path.partition("[")[0], ())
        text = show(value, 2000) + (f"  [{'; '.join(sources)}]" if sources else "")
        rows += wrap(f"{path}: {text}", width, "  ", style="dim" if isinstance(value, Missing) else "", hang=4)
    return rows


def walk(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of every fact, lists of Structs with an index: `gpus[0].name`."""
    if isinstance(node, Struct) and not isinstance(node, Missing):
        for name in node.__struct_fields__:
            if not (path == "" and name == "witnesses"):
                yield from walk(getattr(node, name), f"{path}.{name}" if path else name)
    elif isinstance(node, (list, tuple)) and node and isinstance(node[0], Struct):
        for index, item in enumerate(node[:_MOST]):
            yield from walk(item, f"{path}[{index}]")
        if len(node) > _MOST:
            yield f"{path}[{_MOST}...]", f"{len(node) - _MOST} more; --format json shows all"
    else:
        yield path, node
