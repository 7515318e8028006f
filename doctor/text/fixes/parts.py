"""What a builder of fixes is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ...findings import Fix
from ...snapshot import Snapshot, Symptom

if TYPE_CHECKING:
    from compat_matrix import Matrix


class Told(NamedTuple):
    """A text that decides a check: the facts, the message, and the lines of all its messages."""

    s: Snapshot
    m: Matrix
    said: Symptom
    text: str


Builder: TypeAlias = Callable[[Told], Iterable[Fix | None]]
