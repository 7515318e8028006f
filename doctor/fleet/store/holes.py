"""A section without what differs from machine to machine by nature: its text with holes, which nodes share, and what
stood in them. Filled again, the JSON is the same.

`\\0N;` is the report's UUID number N, `\\0#` its next number. What is equal but for them is decoded, flattened and
stored once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import compress, count
from typing import NamedTuple

_WHOLE: dict[str, tuple[str, ...]] = {
    "gpus": (
        "clock_event_reasons", "clock_memory_mhz", "clock_sm_mhz", "fan_percent", "memory_mib", "memory_reserved_mib",
        "memory_used_mib", "memory_utilization_percent", "pid", "temperature_c", "temperature_margin_c",
        "utilization_percent",
    ),
    "host": ("free_mib",),
}  # fmt: skip
"""Fields with whole numbers that differ by nature (facts.json), by section."""
_DECIMAL: dict[str, tuple[str, ...]] = {"gpus": ("power_draw_w",), "torch_run": ("import_seconds",)}
_INTEGER = r"-?(?:0|[1-9]\d{0,14})"


def _pattern(whole: tuple[str, ...], decimal: tuple[str, ...]) -> re.Pattern[bytes]:
    """The field with its colon, and its number; only where that is a number of its kind."""
    kinds = []
    for names, number in ((whole, _INTEGER), (decimal, rf"{_INTEGER}(?:\.\d{{1,15}})?")):
        if names:
            kinds.append(rf'(?:{"|".join(names)})":\s*(?={number}\s*[,}}])')
    return re.compile(rf'("(?:{"|".join(kinds)}))(-?[\d.]+)'.encode("ascii"))


_NUMBERS = {
    name: _pattern(_WHOLE.get(name, ()), _DECIMAL.get(name, ())) for name in sorted(_WHOLE.keys() | _DECIMAL.keys())
}
_BOARDS = re.compile(rb"(GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_BOARDS_AND_PARTS = re.compile(rb"((?:GPU|MIG)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_HOLES = re.compile(rb"(\0(?:#|\d+;))")


def _all(pattern: str) -> re.Pattern[bytes]:
    return re.compile(rf"(?:{pattern})(?:,(?:{pattern}))*".encode("ascii"))


_ALL_UUIDS = _all(r"(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ALL_WHOLE = _all(_INTEGER)
_ALL_DECIMALS = _all(rf"{_INTEGER}(?:\.\d{{1,15}})?")
_FIRST = 700_000_000


class Mould:
    """A text with holes, to tell by the bytes around each hole what stands in it: where several
    fields have holes, faster than by patterns."""

    def __init__(self, text: bytes, pieces: Sequence[bytes]) -> None:
        """pieces: of the text, what stands before the first hole, between two of them, and behind the last."""
        self.text = text
        self._pieces = list(pieces)
        self._rest = [(piece[:1], len(piece)) for piece in pieces[1:]]

    def match(self, data: bytes) -> list[bytes] | None:
        """What stands in the holes, each up to the character that comes next; None if the data has another text."""
        pieces, values, find = self._pieces, list[bytes](), data.find
        at, add = len(pieces[0]), values.append
        for mark, size in self._rest:
            end = find(mark, at)
            if end < 0:
                return None
            add(data[at:end])
            at = end + size
        whole: list[bytes] = [b""] * (2 * len(pieces) - 1)
        whole[::2], whole[1::2] = pieces, values
        return values if b"".join(whole) == data else None


class Cut(NamedTuple):
    """A section's text with holes, and the numbers that stood in them, in their order."""

    text: bytes
    numbers: list[bytes]


class Uuids(dict[bytes, bytes]):
    """The UUIDs of a report in their order, each with what stands in its place; a new one gets the next number."""

    def __missing__(self, uuid: bytes) -> bytes:
        hole = self[uuid] = b"\0%d;" % len(self)
        return hole


def cut(name: str, data: bytes, uuids: Uuids) -> Cut | None:
    """`uuids`: those of the report so far; gets the new ones. None if the text cannot have holes."""
    if b"\0" in data:
        return None
    mig = b"MIG-" in data
    if mig or b"GPU-" in data:
        parts = (_BOARDS_AND_PARTS if mig else _BOARDS).split(data)
        parts[1::2] = map(uuids.__getitem__, parts[1::2])
        data = b"".join(parts)
    pattern = _NUMBERS.get(name)
    if pattern is None:
        return Cut(data, [])
    parts = pattern.split(data)
    numbers = parts[2::3]
    parts[2::3] = [b"\0#"] * len(numbers)
    return Cut(b"".join(parts), numbers)


_MOULDS = 3


class Cutter:
    """Cuts the sections of one name. Where they have numbers, by the texts of the last ones, which most often fit."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._learned: list[_Learned] = []

    def cut(self, data: bytes, uuids: Uuids) -> Cut | None:
        """`uuids`: those of the report so far; gets the new ones. None if the text cannot have holes."""
        for index, one in enumerate(self._learned):
            values = one.mould.match(data)
            if values is None:
                continue
            if index:
                self._learned.insert(0, self._learned.pop(index))
            if one.are_values(values) and [uuids[values[n]] for n, _ in one.uuids] == [hole for _, hole in one.uuids]:
                return Cut(one.mould.text, [values[position] for position in one.numbers])
            break
        else:
            index = -1
        parts = cut(self._name, data, uuids)
        if parts and parts.numbers and index < 0:
            self._learned = [_Learned(self._name, parts.text), *self._learned[: _MOULDS - 1]]
        return parts


class _Learned:
    """A text with holes that other sections of this name may have too."""

    def __init__(self, name: str, text: bytes) -> None:
        parts = _HOLES.split(text)
        self.mould = Mould(text, parts[::2])
        holes = list(enumerate(parts[1::2]))
        decimal = tuple(b'"%b":' % field.encode("ascii") for field in _DECIMAL.get(name, ()))
        self.uuids = [(position, hole) for position, hole in holes if hole != b"\0#"]
        """Which of the mould's holes are UUIDs, and what stands there."""
        self.numbers = [position for position, hole in holes if hole == b"\0#"]
        is_decimal = [parts[2 * position].rstrip().endswith(decimal) for position in self.numbers]
        self._decimals = list(compress(self.numbers, is_decimal))
        self._whole = [position for position, decimal in zip(self.numbers, is_decimal, strict=True) if not decimal]

    def are_values(self, values: list[bytes]) -> bool:
        """Whether there are UUIDs and numbers where a pattern would find them."""
        kinds = (
            (_ALL_UUIDS, [values[position] for position, _ in self.uuids]),
            (_ALL_WHOLE, [values[position] for position in self._whole]),
            (_ALL_DECIMALS, [values[position] for position in self._decimals]),
        )
        return all(not some or pattern.fullmatch(b",".join(some)) for pattern, some in kinds)


def fill(text: bytes, uuids: list[bytes], numbers: Iterator[bytes]) -> bytes:
    """The text without holes. Raises ValueError, IndexError where something is not there."""
    first, *pieces = text.split(b"\0")
    out = [first]
    for piece in pieces:
        if piece[:1] == b"#":
            number = next(numbers, None)
            if number is None:
                raise ValueError("a section refers to more numbers than are stored")
            out += (number, piece[1:])
        else:
            position, _, rest = piece.partition(b";")
            out += (uuids[int(position)], rest)
    return b"".join(out)


def stand_ins(uuids: int, numbers: int) -> Marks:
    """What may stand in holes while one section is decoded for all nodes that have it."""
    return Marks([b"GPU-%08x-0000-0000-0000-000000000000" % (_FIRST + n) for n in range(uuids)],
                 [b"%d" % (_FIRST + n) for n in range(numbers)])  # fmt: skip


class Marks(NamedTuple):
    """UUIDs and numbers that no machine has, each once."""

    uuids: list[bytes]
    numbers: list[bytes]

    def number_of(self, value: float | None) -> int | None:
        """Which hole this number stands in; None for one of the text's own."""
        if value is None or not _FIRST <= value < _FIRST + len(self.numbers) or value != int(value):
            return None
        return int(value) - _FIRST


def order_of(name: str, content: bytes, marks: Marks) -> tuple[bytes, tuple[int, ...]] | None:
    """The text with holes of JSON in which marks stand, and which mark each number is; None if one was changed."""
    uuids = Uuids()
    for uuid in marks.uuids:
        uuids[uuid]
    found = cut(name, content, uuids)
    if found is None or len(uuids) != len(marks.uuids):
        return None
    positions = dict(zip(marks.numbers, count()))
    try:
        return found.text, tuple(positions[number.removesuffix(b".0")] for number in found.numbers)
    except KeyError:
        return None
