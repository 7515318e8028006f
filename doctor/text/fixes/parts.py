"""What a builder of fixes is given, and a fix of one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...findings import Fix, Step
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


def one_step(id: str, title: str, text: str, command: str = "", where: Any = "shell", **more: Any) -> Fix:
    """A fix of one step; `more`: fields of the step, and note and source of the fix."""
    outer = {name: more.pop(name) for name in ("note", "source") if name in more}
    return Fix(id=id, title=title, steps=(Step(text=text, command=command, where=where, **more),), **outer)
