"""What a reader returns: one fact with the line that states it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Line(NamedTuple):
    """A line of the input after cleaning; `number` counts from 1 in the input as it came."""

    number: int
    text: str


class Statement(NamedTuple):
    """`path` is a fact of the Snapshot, or one of the words that `merge` puts together: gpu, package, variable."""

    path: str
    value: Any
    line: int
    text: str
    weak: bool = False
    """Gives way to any other statement of the same fact (an inference, or a table's other column)."""


def say(path: str, value: Any, line: Line, weak: bool = False) -> Statement:
    """A statement of this line."""
    return Statement(path, value, line.number, line.text.strip()[:200], weak)
