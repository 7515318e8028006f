"""What a builder of fixes is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ...findings import Fix, Matrix
from ...formats.record import Record
from ...snapshot import Snapshot, Symptom


class Evidence(Record):
    """A text that decides a check: the facts, the message, and the lines of all its messages."""

    s: Snapshot
    m: Matrix
    symptom: Symptom
    text: str


Builder: TypeAlias = Callable[[Evidence], Iterable[Fix | None]]
