"""CUDA fat binaries: which machine code a library carries, from its headers alone.

A section (``.nv_fatbin``: what the runtime loads; ``__nv_relfatbin``: inputs of the device linker) is a row of
containers, a container is a row of entries, an entry is the code of one translation unit for one architecture.
Only container and entry headers are read, so a library of a gigabyte costs a few thousand small reads; of small cubins
also the first bytes, which name their sections.

Layout as observed (little endian). Container: magic 0xBA55ED50, version u16, header size u16, length u64 (without the
header). Entry: kind u16 (1 PTX, 2 SASS), u16, header size u32, payload size u64, ..., architecture u32 at 28
(90 = 9.0), flags u64 at 40, unpacked size u64 at 56.
"""

from __future__ import annotations

import struct
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from .reader import Pread

SECTIONS = (".nv_fatbin", "__nv_relfatbin")
MAGIC = 0xBA55ED50
SASS, PTX = "SASS", "PTX"

_FLAG_ZSTD = 0x8000
_FLAG_PACKED = 0x2000 | _FLAG_ZSTD  # older (LZ4) and newer compression
_FLAG_A, _FLAG_F = 0x100000, 0x200000  # architecture-specific, family-specific
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<H2xIQ12xI8xQ8xQ")
_ENTRY_BYTES = 64
_MAX_ENTRY_HEADER = 1 << 16
# A cubin begins with the names of its sections, those of its code (".text.KERNEL") among the first. LZ4 leaves a text
# as it is where it comes for the first time (the point before it has come before); in all torch wheels that use it,
# "text." ends before byte 100.
_PEEK_BYTES, _PEEK_BELOW = 192, 10240
_SMALL_READ, _LARGE_READ = 128, 1 << 16  # a container header with its first entry header takes 80
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


class FatbinError(Exception):
    """The walk of a section ended early; the message is one line."""


Header = Tuple[int, int, int, int, int, int]
"""An entry header as it lies in the file: kind, header size, payload size, architecture, flags, unpacked size."""


class Container(NamedTuple):
    """One container and its entry headers as numbers (see ``decode``); ``problem``: why not all were read, or "".

    ``has_code``: of the small cubins among them that can be read, by their place: whether a section of code is named.
    ``end``: where the next one would begin.
    """

    offset: int
    headers: List[Header]
    problem: str
    has_code: Dict[int, bool]
    end: int


def decode(header: Header) -> Entry:
    """Give the numbers of a header their names."""
    kind, _, size, arch, flags, unpacked = header
    return Entry(
        SASS if kind == 2 else PTX if kind == 1 else "kind-%d" % kind,
        "%d.%d" % (arch // 10, arch % 10),
        "a" if flags & _FLAG_A else "f" if flags & _FLAG_F else "",
        size,
        unpacked or size,  # 0 beside a payload that is not compressed
        flags & _FLAG_PACKED != 0,
    )


def walk(read: Pread, offset: int, size: int) -> Iterator[Container]:
    """Containers of the section that lies at ``offset`` for ``size`` bytes.

    Raises FatbinError at bytes that are no container (after all containers before them), OSError from ``read``.
    """
    window = Window(read)
    position, end = offset, offset + size
    containers = entries = 0
    while position + _CONTAINER.size <= end:
        container = read_container(window, position, end, MAX_ENTRIES - entries)
        if container is None:
            if window.data[position - window.base :][:4] != b"\0\0\0\0":
                raise FatbinError("no container at byte %d of the section" % (position - offset))
            position = _skip_padding(read, position, end)
            continue
        yield container
        containers += 1
        entries += len(container.headers)
        if containers >= MAX_CONTAINERS or entries >= MAX_ENTRIES:
            raise FatbinError("more containers than any real library has")
        position = container.end


def read_container(window: Window, position: int, end: int, most: int = MAX_ENTRIES) -> Optional[Container]:
    """The container at ``position`` of a section (or file) that ends at ``end``, None where other bytes are.

    Raises FatbinError where the file ends before, OSError from the window's reader.
    """
    at = window.locate(position, _CONTAINER.size)
    if at < 0:
        raise FatbinError("file ends inside the section")
    magic, _, header, length = _CONTAINER.unpack_from(window.data, at)
    if magic != MAGIC or header < _CONTAINER.size:
        return None
    stop = position + header + length
    found, problem, has_code = _headers(window, position + header, min(stop, end), most)
    if stop > end and not problem:
        problem = "container is longer than its section"
    return Container(position, found, problem, has_code, stop)


def _headers(window: Window, position: int, stop: int, most: int) -> Tuple[List[Header], str, Dict[int, bool]]:
    found: List[Header] = []
    has_code: Dict[int, bool] = {}
    unpack, locate, small = _ENTRY.unpack_from, window.locate, _PEEK_BELOW
    while position + _ENTRY_BYTES <= stop and len(found) < most:
        at = locate(position, _ENTRY_BYTES)
        if at < 0:
            return found, "file ends inside a container", has_code
        header: Header = unpack(window.data, at)
        payload = position + header[1]
        position = payload + header[2]
        if position > stop or not _ENTRY_BYTES <= header[1] <= _MAX_ENTRY_HEADER:
            return found, "entry header is damaged", has_code
        if header[5] < small and header[0] == 2 and not header[4] & _FLAG_ZSTD and (header[5] or header[2]) < small:
            want = min(header[2], _PEEK_BYTES)
            at = locate(payload, want)
            if at >= 0 and window.data.find(b".shstrtab", at, at + want) >= 0:
                has_code[len(found)] = window.data.find(b"text.", at, at + want) >= 0
        found.append(header)
    return found, "", has_code


class Window:
    """The last bytes read. Headers far apart cost one small read each; headers close together share a large one."""

    __slots__ = ("_read", "_want", "base", "data")

    def __init__(self, read: Pread) -> None:
        self._read = read
        self.base, self.data, self._want = 0, b"", _SMALL_READ

    def locate(self, position: int, size: int) -> int:
        """Where in ``data`` the bytes at ``position`` are, after reading if needed; -1: the file ends before."""
        start, have = position - self.base, len(self.data)
        if 0 <= start <= have - size:
            return start
        want = min(self._want * 4, _LARGE_READ) if 0 <= start < have + _SMALL_READ else _SMALL_READ
        data = self._read(position, want)
        self.base, self.data, self._want = position, data, want
        return 0 if len(data) >= size else -1


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
