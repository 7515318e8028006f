"""A shared library that comes by once: its headers, what it needs, its notes, and the GPU code that it carries.

The section table stands at the end, so fat binary containers are found by their magic number and skipped by their
length; which section each belongs to is told afterwards. Strings are kept where they look like the name of a library or
a search path, since the table that points to them comes after them as well.
"""

from __future__ import annotations

import struct
from typing import List, Tuple

from .elf import PT_DYNAMIC, PT_LOAD, PT_NOTE, parse_start
from .fatbin import MAGIC, FatbinError, Window, read_container
from .fatbin_containers import Containers
from .forward import BEHIND, Forward, Kept

_MAGIC = struct.pack("<I", MAGIC)
_HEAD_BYTES = 1 << 16
_AROUND_TABLE = 1 << 16
"""The names of the sections lie right before the section table, or behind it."""
_MAX_AREA = 1 << 20
_MAX_NOTES = 16
_TEXT_REACH = 64 << 20
"""So far from the start of the file, and of the segments from the dynamic section on, its strings may lie."""
_TEXT_MARKS = (b".so", b"$ORIGIN", b"/lib")
_MAX_TEXT = 4096
_AHEAD = 1 << 14
"""Bytes behind the current ones that are here as well, for what begins in these."""
_MARK_BEHIND = 12
_MAX_MARKED = 64

Range = Tuple[int, int]


class Library:
    """What was seen of one file. ``kept.pread`` serves the readers of headers, needs and notes (``parse_elf`` ...)."""

    __slots__ = ("containers", "kept", "marked", "size", "zeros_from")

    def __init__(self, size: int) -> None:
        self.size = size
        self.marked: List[Tuple[int, bytes]] = []
        self.zeros_from = 0
        """From there to the current byte there are zeros only."""
        self.kept = Kept()
        self.containers = Containers()


class _Wanted:
    """Where headers, notes and strings lie, by the first bytes of a file. Raises ElfError."""

    __slots__ = ("areas", "marks", "texts")

    def __init__(self, head: bytes, size: int, marks: Tuple[bytes, ...]) -> None:
        start = parse_start(lambda offset, count: head[offset : offset + count])
        areas: List[Range] = []
        if start.table:
            areas.append((start.table - _AROUND_TABLE, start.table + min(start.table_bytes, _MAX_AREA) + _AROUND_TABLE))
        notes = [s for s in start.segments if s.type == PT_NOTE][:_MAX_NOTES]
        dynamic = next((s for s in start.segments if s.type == PT_DYNAMIC), None)
        areas += [(s.offset, s.offset + min(s.size, _MAX_AREA)) for s in [*notes, *([dynamic] if dynamic else [])]]
        self.areas = _joined([(max(a, len(head)), min(b, size)) for a, b in areas])
        texts = [(0, _TEXT_REACH)]
        for segment in start.segments:  # patchelf puts longer ones into a segment of their own, behind all others
            if segment.type == PT_LOAD and dynamic and dynamic.offset < segment.offset + segment.size:
                texts.append((segment.offset, segment.offset + min(segment.size, _TEXT_REACH)))
        self.texts = _joined(texts)
        self.marks = marks


def read_library(source: Forward, marks: Tuple[bytes, ...] = ()) -> Library:
    """Go through a file once, from its start to its end.

    ``marks``: where one of them stands, 16 KiB from 12 bytes before it on are kept too, in ``marked`` as well.
    Raises ElfError where it is no ELF file.
    """
    library = Library(source.size)
    head = source.pread(0, _HEAD_BYTES)
    wanted = _Wanted(head, source.size, marks)
    library.kept.area(0, head)
    window = Window(source.pread)
    position = 0
    while position < source.size:
        if position >= source.end and not source.pread(position, 1):
            break
        last = source.end >= source.size
        if not last and source.end - position <= _AHEAD:
            last = not source.grow(position)
        limit = source.end if last else max(position, source.end - _AHEAD)
        while position < limit:
            at = -1
            if not library.containers.full:
                at = source.data.find(_MAGIC, position - source.base, limit - source.base + 3)
            stop = min(limit, source.base + at) if at >= 0 else limit
            _keep(source, library, position, stop, wanted)
            position = stop
            if stop < limit:
                position = _container(window, source, stop, library)
                if position == stop:  # other bytes that begin with this number
                    position = min(stop + 4, limit)
                    _keep(source, library, stop, position, wanted)
                else:
                    break
        if last and position >= source.end and source.end < source.size and not source.pread(position, 1):
            break
    return library


def _container(window: Window, source: Forward, position: int, library: Library) -> int:
    """Count the container at ``position`` if it is one; where it ends, else ``position``.

    That is decided by its first 80 bytes: behind them there is no way back.
    """
    data = source.pread(position, 80)
    if position % 4 or len(data) < 16:
        return position
    version, header, length = struct.unpack_from("<4xHHQ", data)
    if not 1 <= version < 16 or header != 16 or position + header + length > source.size:
        return position
    if length:
        if len(data) < 80:
            return position
        kind, entry, payload = struct.unpack_from("<H2xIQ", data, 16)
        if not 1 <= kind < 256 or not 64 <= entry <= 1 << 16 or entry + payload > length:
            return position
    try:
        container = read_container(window, position, source.size)
    except FatbinError:
        return position
    if container is None:
        return position
    library.containers.add(container, library.zeros_from)
    library.zeros_from = container.end
    return container.end


def _keep(source: Forward, library: Library, start: int, stop: int, wanted: _Wanted) -> None:
    """Put aside what is wanted of the bytes from ``start`` to ``stop``."""
    data, base, kept = source.data, source.base, library.kept
    if stop > start and not data[stop - 1 - base]:
        other = len(data[start - base : stop - base].rstrip(b"\0"))
        library.zeros_from = start + other if other else library.zeros_from
    elif stop > start:
        library.zeros_from = stop
    for first, last in wanted.areas:
        if first < stop and start < last:
            first, last = max(first, start), min(last, stop)
            kept.area(first, data[first - base : last - base])
    for mark in wanted.marks:
        at = data.find(mark, start - base, stop - base)
        while at >= 0 and len(library.marked) < _MAX_MARKED:
            first = max(at - _MARK_BEHIND, 0)
            library.marked.append((base + at, data[first : first + _AHEAD]))
            kept.area(base + first, library.marked[-1][1])
            at = data.find(mark, first + _AHEAD, stop - base)
    if any(first < stop and start < last for first, last in wanted.texts):
        _texts(data, base, start - base, stop - base, kept)


def _texts(data: bytes, base: int, start: int, stop: int, kept: Kept) -> None:
    found: List[int] = []
    for mark in _TEXT_MARKS:
        at = data.find(mark, start, stop)
        while at >= 0:
            found.append(data.rfind(b"\0", max(0, at - BEHIND), at) + 1 or max(0, at - BEHIND))
            at = data.find(mark, at + 1, stop)
    for first in sorted(set(found)):
        end = data.find(b"\0", first, first + _MAX_TEXT)
        kept.piece(base + first, data[first : end + 1 if end >= 0 else first + _MAX_TEXT])


def _joined(ranges: List[Range]) -> List[Range]:
    """Ranges without overlaps, in ascending order."""
    result: List[Range] = []
    for first, last in sorted(r for r in ranges if r[0] < r[1]):
        if result and first <= result[-1][1]:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return result
