"""CUDA fat binaries: which machine code a library carries, from its headers alone.

A section (``.nv_fatbin``: what the runtime loads; ``__nv_relfatbin``: inputs of the device linker) is a row of
containers, a container is a row of entries, an entry is the code of one translation unit for one architecture.
Only container and entry headers are read, so a library of a gigabyte costs a few thousand small reads.

Layout as observed (little endian). Container: magic 0xBA55ED50, version u16, header size u16, length u64 (without the
header). Entry: kind u16 (1 PTX, 2 SASS), u16, header size u32, payload size u64, ..., architecture u32 at 28
(90 = 9.0), flags u64 at 40, unpacked size u64 at 56.
"""

from __future__ import annotations

import struct
from typing import Iterator, List, NamedTuple

from .reader import Pread

SECTIONS = (".nv_fatbin", "__nv_relfatbin")
MAGIC = 0xBA55ED50
SASS, PTX = "SASS", "PTX"

_FLAG_PACKED = 0x2000 | 0x8000  # older and newer compression
_FLAG_A, _FLAG_F = 0x100000, 0x200000  # architecture-specific, family-specific
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ12xI8xQ8xQ")
_ENTRY_BYTES = 64
_MAX_ENTRY_HEADER = 1 << 16
_SMALL_READ, _LARGE_READ = 256, 1 << 16
_MAX_PADDING = 1 << 24
MAX_CONTAINERS = 100_000
MAX_ENTRIES = 500_000


class Target(NamedTuple):
    """What code was compiled for: kind ``SASS`` or ``PTX``, compute capability "9.0", variant "", "a" or "f"."""

    kind: str
    arch: str
    variant: str = ""

    @property
    def name(self) -> str:
        """As the compiler writes it: ``sm_90a``, ``compute_120``."""
        return ("sm_" if self.kind == SASS else "compute_") + self.arch.replace(".", "") + self.variant


class Entry(NamedTuple):
    """One entry header. ``kind`` is SASS, PTX or ``kind-N``; sizes in bytes, ``unpacked`` after decompression."""

    kind: str
    arch: str
    variant: str
    size: int
    unpacked: int
    compressed: bool


class Container(NamedTuple):
    """One container; ``problem`` is empty, or one line on why its entries were not all read."""

    offset: int
    entries: List[Entry]
    problem: str


class FatbinError(Exception):
    """The walk of a section ended early; the message is one line."""


def walk(read: Pread, offset: int, size: int) -> Iterator[Container]:
    """Containers of the section that lies at ``offset`` for ``size`` bytes.

    Raises FatbinError at bytes that are no container (after all containers before them), OSError from ``read``.
    """
    fetch = _windowed(read)
    position, end = offset, offset + size
    containers = entries = 0
    while position + _CONTAINER.size <= end:
        head = fetch(position, _CONTAINER.size)
        if len(head) < _CONTAINER.size:
            raise FatbinError("file ends inside the section")
        magic, _, header, length = _CONTAINER.unpack(head)
        if magic == 0:
            position = _skip_padding(read, position, end)
            continue
        if magic != MAGIC or header < _CONTAINER.size:
            raise FatbinError("no container at byte %d of the section" % (position - offset))
        stop = position + header + length
        found, problem = _entries(fetch, position + header, min(stop, end), MAX_ENTRIES - entries)
        if stop > end and not problem:
            problem = "container is longer than its section"
        yield Container(position, found, problem)
        containers += 1
        entries += len(found)
        if containers >= MAX_CONTAINERS or entries >= MAX_ENTRIES:
            raise FatbinError("more containers than any real library has")
        position = stop


def _entries(fetch: Pread, position: int, stop: int, most: int) -> "tuple[List[Entry], str]":
    found: List[Entry] = []
    while position + _ENTRY_BYTES <= stop and len(found) < most:
        head = fetch(position, _ENTRY_BYTES)
        if len(head) < _ENTRY_BYTES:
            return found, "file ends inside a container"
        kind, _, header, size, arch, flags, unpacked = _ENTRY.unpack(head)
        if not _ENTRY_BYTES <= header <= _MAX_ENTRY_HEADER or position + header + size > stop:
            return found, "entry header is damaged"
        packed = flags & _FLAG_PACKED != 0
        found.append(
            Entry(
                SASS if kind == 2 else PTX if kind == 1 else "kind-%d" % kind,
                "%d.%d" % (arch // 10, arch % 10),
                "a" if flags & _FLAG_A else "f" if flags & _FLAG_F else "",
                size,
                unpacked if packed else size,
                packed,
            )
        )
        position += header + size
    return found, ""


def _windowed(read: Pread) -> Pread:
    """Headers far apart cost one small read each; headers close together share one large read."""
    base, data, want = 0, b"", _SMALL_READ

    def fetch(position: int, size: int) -> bytes:
        nonlocal base, data, want
        start = position - base
        if start < 0 or start + size > len(data):
            near = 0 <= start < len(data) + _SMALL_READ
            want = min(want * 4, _LARGE_READ) if near else _SMALL_READ
            base, data, start = position, read(position, want), 0
        return data[start : start + size]

    return fetch


def _skip_padding(read: Pread, position: int, end: int) -> int:
    """The next multiple of 4 from ``position`` on where a byte is not zero, else ``end``."""
    limit = position + _MAX_PADDING
    while position < end:
        if position > limit:
            raise FatbinError("megabytes of zeros in the section")
        data = read(position, min(_LARGE_READ, end - position))
        if not data:
            raise FatbinError("file ends inside the section")
        zeros = len(data) - len(data.lstrip(b"\0"))
        if zeros < len(data):
            return position + zeros // 4 * 4
        position += len(data)
    return end
