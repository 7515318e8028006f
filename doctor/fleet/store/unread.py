"""A Snapshot for all nodes that differ in nothing but what stands in the holes of their sections (holes.py).

A check that runs on it and does not read what differs says the same of all of them; one that reads it raises `Differs`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import is_not
from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace as struct_replace

from ...judge import Examined
from ...snapshot import Snapshot, Target
from .holes import Marks, stand_ins
from .rates import HOLE
from .section import DECODERS, NO_MARKS, Section

_MARK = "-0000-0000-0000-000000000000"
"""How every UUID of `stand_ins` ends."""


class Differs(BaseException):
    """Something was read that is not the same on all nodes. No Exception: no check takes it for a fault of its own."""


def _raise(*about: Any, **more: Any) -> NoReturn:
    raise Differs


def _unread(kind: type, methods: Sequence[str]) -> type:
    """A value of which nothing is known but its type: whatever is asked of it raises."""
    raising = dict.fromkeys(methods, _raise)
    return type(f"Unread{kind.__name__}", (), {**raising, "__slots__": (), "__class__": property(lambda _: kind)})


_TOUCHED = [
    name for name in dir(float) + dir(int) + dir(str)
    if name not in ("__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__",
                    "__setattr__", "__delattr__", "__dir__", "__doc__", "__getstate__", "__reduce__", "__reduce_ex__",
                    "__getnewargs__", "__sizeof__")
] + ["__radd__", "__rmul__", "__rmod__"]  # fmt: skip
_UNREAD = {kind: _unread(kind, _TOUCHED) for kind in (int, float, str)}


_KINDS = ("GPU", "GPU-", "MIG", "MIG-")


class _Uuid(str):
    """A UUID as a mark. The report's UUIDs differ from each other and from all other text on every node, so they may be
    compared with `==` and looked up, and the first letters say of what they are; whatever else is asked raises."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) if isinstance(other, str) else False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> _Uuid:
        return self

    def startswith(self, prefix: Any, *about: Any) -> bool:
        if about or prefix not in _KINDS:
            raise Differs
        return str.startswith(self, prefix)

    def removeprefix(self, prefix: str) -> _Uuid:
        return _Uuid(str.removeprefix(self, prefix))

    def lower(self) -> _Uuid:
        return _Uuid(str.lower(self))


for _name in _TOUCHED:
    if _name not in ("__eq__", "__ne__", "__hash__", "__len__") and hasattr(str, _name) and _name not in vars(_Uuid):
        setattr(_Uuid, _name, _raise)

_SECTIONS = frozenset(Snapshot.__struct_fields__)
_reads: set[str] = set()


class Watched(Snapshot, frozen=True):
    """A Snapshot, and copies of it, of which is noted which sections are read."""

    def __getattribute__(self, name: str) -> Any:
        if name in _SECTIONS:
            _reads.add(name)
        return super().__getattribute__(name)


def watched(sections: dict[str, Any]) -> Watched:
    """Of these sections by name; the others are omitted."""
    return Watched(**sections)


def start_reading() -> None:
    _reads.clear()


def sections_read() -> tuple[str, ...]:
    """Names of the sections that were read since `start_reading`, sorted."""
    return tuple(sorted(_reads))


def without_differences(section: Section, parts: Collection[int]) -> Any:
    """A section's facts, where what differs cannot be read. parts: which UUIDs of the report are of MIG instances."""
    return section.typed if section.marks is NO_MARKS else _replaced(section.typed, section.marks, parts)


def unread_target(target: Target) -> Target:
    """Its kind is known."""
    unread = _UNREAD[str]()
    return struct_replace(target, name=unread, gathered_at=unread)


def unread_rates(text: bytes) -> Any:
    """Rates of unread numbers. text: their JSON with holes (rates.py)."""
    marks = stand_ins(0, text.count(HOLE))
    first, *pieces = text.split(HOLE)
    rates = first + b"".join(mark + piece for mark, piece in zip(marks.numbers, pieces, strict=True))
    whole = DECODERS["measured"].decode(b'{"rates":%b}' % rates)
    return _replaced(whole.rates, marks)


def is_same(one: Examined) -> bool:
    """Whether nothing that differs is in what a check said, by itself or in its words."""
    if one.reason.startswith("the check itself failed") or _MARK in one.reason:
        return False
    if not one.findings:
        return True
    try:
        return _MARK.encode() not in msgspec.json.encode(one.findings, enc_hook=_raise)
    except (Differs, TypeError, ValueError):
        return False


def _replaced(value: Any, marks: Marks, parts: Collection[int] = ()) -> Any:
    """A copy in which marks are values that cannot be read."""
    if isinstance(value, str):
        if _MARK not in value:
            return value
        number = next((n for n, uuid in enumerate(marks.uuids) if uuid == value.encode()), None)
        if number is None:
            return _UNREAD[str]()
        return _Uuid(f"MIG-{value[4:]}" if number in parts else value)
    if isinstance(value, (int, float)):
        return value if isinstance(value, bool) or marks.number_of(value) is None else _UNREAD[type(value)]()
    if isinstance(value, (tuple, list)):
        items = [_replaced(item, marks, parts) for item in value]
        return type(value)(items) if any(map(is_not, items, value)) else value
    if isinstance(value, dict):
        pairs = [(_replaced(key, marks, parts), _replaced(item, marks, parts)) for key, item in value.items()]
        same = all(k is key and i is item for (k, i), (key, item) in zip(pairs, value.items(), strict=True))
        return value if same else dict(pairs)
    return _struct(value, marks, parts) if isinstance(value, msgspec.Struct) else value


def _struct(value: msgspec.Struct, marks: Marks, parts: Collection[int]) -> msgspec.Struct:
    """The same object if it has no mark: its identity shows that a field is absent, not set to its default."""
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    changed = {name: new for name, old in fields.items() if (new := _replaced(old, marks, parts)) is not old}
    return struct_replace(value, **changed) if changed else value
