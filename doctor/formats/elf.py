"""ELF headers: sections and segments of a library, by positioned reads of a few kilobytes.

Layout: System V ABI, generic part (elf.h). Little endian, 32 and 64 bit.
"""

from __future__ import annotations

import struct
from typing import Dict, NamedTuple, Optional, Tuple

from .reader import Pread

MACHINES: Dict[int, str] = {
    3: "x86", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 190: "cuda", 224: "amdgpu",
    243: "riscv", 258: "loongarch64",
}  # fmt: skip
TYPES: Dict[int, str] = {1: "object", 2: "executable", 3: "shared", 4: "core"}
SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS = 6, 7, 8
PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4

_MAX_HEADERS = 8192
_MAX_NAMES_BYTES = 1 << 20
_MAX_NAME = 256


class ElfError(Exception):
    """The bytes are not an ELF file that can be read; the message is one line."""


class Section(NamedTuple):
    """One row of the section table; ``offset`` and ``size`` in bytes of the file, not checked against its end."""

    name: str
    type: int
    address: int
    offset: int
    size: int
    link: int
    align: int


class Segment(NamedTuple):
    """One row of the program header table; ``size`` is the part that lies in the file."""

    type: int
    offset: int
    address: int
    size: int
    align: int


class Elf(NamedTuple):
    """Headers of one ELF file and the reader they came from."""

    read: Pread
    bits: int
    machine: str
    type: str
    sections: Tuple[Section, ...]
    segments: Tuple[Segment, ...]

    def section(self, name: str) -> Optional[Section]:
        """The first section of that name, or None."""
        for section in self.sections:
            if section.name == name:
                return section
        return None

    def file_offset(self, address: int) -> Optional[int]:
        """Where the loaded byte at ``address`` lies in the file, or None."""
        for segment in self.segments:
            if segment.type == PT_LOAD and segment.address <= address < segment.address + segment.size:
                return address - segment.address + segment.offset
        return None


class Start(NamedTuple):
    """What the first bytes of a file say: its segments, and where its section table lies (0: there is none)."""

    segments: Tuple[Segment, ...]
    table: int
    table_bytes: int
    machine: str

    @property
    def end(self) -> int:
        """Bytes that the file has at least, if it is whole: to the end of its section table and of what is loaded."""
        ends = [segment.offset + segment.size for segment in self.segments if segment.type == PT_LOAD]
        return max([self.table + self.table_bytes if self.table else 0, *ends])


class _Head(NamedTuple):
    bits: int
    numbers: Tuple[int, ...]


def parse_elf(read: Pread) -> Elf:
    """Read the headers. Raises ElfError on anything that is not little-endian ELF; OSError from ``read``."""
    bits, numbers = _head(read)
    kind, machine, _, _, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum, shstrndx = numbers
    return Elf(
        read,
        bits,
        MACHINES.get(machine, "machine-%d" % machine),
        TYPES.get(kind, "type-%d" % kind),
        _sections(read, bits, shoff, shentsize, shnum, shstrndx),
        _segments(read, bits, phoff, phentsize, phnum),
    )


def parse_start(read: Pread, most_sections: int = _MAX_HEADERS) -> Start:
    """What can be known before the section table has come by. Raises as ``parse_elf``.

    ``most_sections``: how many rows the section table is taken to have where the header leaves their number to it.
    """
    bits, numbers = _head(read)
    _, machine, _, _, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum, _ = numbers
    return Start(
        _segments(read, bits, phoff, phentsize, phnum),
        shoff,
        shentsize * min(shnum or most_sections, _MAX_HEADERS),
        MACHINES.get(machine, "machine-%d" % machine),
    )


def _head(read: Pread) -> _Head:
    ident = read(0, 64)
    if ident[:4] != b"\x7fELF":
        raise ElfError("not an ELF file")
    if len(ident) < 52:
        raise ElfError("ELF header is cut off")
    if ident[5] != 1:
        raise ElfError("big-endian ELF is not supported" if ident[5] == 2 else "ELF byte order is unknown")
    if ident[4] == 2:
        if len(ident) < 64:
            raise ElfError("ELF header is cut off")
        bits, head = 64, struct.unpack_from("<HHIQQQIHHHHHH", ident, 16)
    elif ident[4] == 1:
        bits, head = 32, struct.unpack_from("<HHIIIIIHHHHHH", ident, 16)
    else:
        raise ElfError("ELF word size is unknown")
    return _Head(bits, head)


def _table(read: Pread, what: str, offset: int, entry: int, count: int, smallest: int) -> bytes:
    if entry < smallest or entry > 1024:
        raise ElfError("%s table has rows of %d bytes" % (what, entry))
    if count > _MAX_HEADERS:
        raise ElfError("%s table has %d rows" % (what, count))
    data = read(offset, entry * count)
    if len(data) < entry * count:
        raise ElfError("%s table is cut off" % what)
    return data


def _sections(read: Pread, bits: int, offset: int, entry: int, count: int, names: int) -> Tuple[Section, ...]:
    if not offset:
        return ()
    layout, smallest = ("<IIQQQQIIQQ", 64) if bits == 64 else ("<IIIIIIIIII", 40)
    if count == 0 or names == 0xFFFF:  # numbers that do not fit are kept in the first row
        first = struct.unpack_from(layout, _table(read, "section", offset, entry, 1, smallest))
        count, names = count or first[5], first[6] if names == 0xFFFF else names
    data = _table(read, "section", offset, entry, count, smallest)
    rows = [struct.unpack_from(layout, data, index * entry) for index in range(count)]
    text = read(rows[names][4], min(rows[names][5], _MAX_NAMES_BYTES)) if 0 < names < len(rows) else b""
    return tuple(Section(cstring(text, row[0]), row[1], row[3], row[4], row[5], row[6], row[8]) for row in rows)


def _segments(read: Pread, bits: int, offset: int, entry: int, count: int) -> Tuple[Segment, ...]:
    if not offset or not count:
        return ()
    layout, smallest = ("<IIQQQQQQ", 56) if bits == 64 else ("<IIIIIIII", 32)
    data = _table(read, "segment", offset, entry, count, smallest)
    segments = []
    for index in range(count):
        row = struct.unpack_from(layout, data, index * entry)
        if bits == 64:
            segments.append(Segment(row[0], row[2], row[3], row[5], row[7]))
        else:
            segments.append(Segment(row[0], row[1], row[2], row[4], row[7]))
    return tuple(segments)


def cstring(data: bytes, offset: int, limit: int = _MAX_NAME) -> str:
    """The zero-ended string at ``offset``, at most ``limit`` bytes of it; undecodable bytes are replaced."""
    piece = data[offset : offset + limit]
    return piece.split(b"\0", 1)[0].decode("utf-8", "replace")
