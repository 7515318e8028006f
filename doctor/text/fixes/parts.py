"""What a fix builder receives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from ...findings import Fix, Matrix
from ...snapshot import Snapshot, Symptom


class Evidence(NamedTuple):
    """A text that decides a check: the facts, the message, and the lines of all its messages."""

    s: Snapshot
    m: Matrix
    symptom: Symptom
    text: str


Builder: TypeAlias = Callable[[Evidence], Iterable[Fix | None]]
