"""A tar archive that comes by once: v7, ustar, GNU and pax headers; never more than a piece of a file in memory.

The standard library's tarfile takes seven times as long for a header, and reads a pax header of whatever size it is
told into memory. Limits are those of the engines: a name or pax header over a mebibyte is an error (Go, archive/tar).
Source: POSIX.1-2017, pax; GNU tar manual, "Basic Tar Format" and "Storing Sparse Files".
"""

from __future__ import annotations

import struct
from typing import Dict, NamedTuple, Optional, Protocol, Tuple

FILE, FOLDER, HARD_LINK, SYMBOLIC_LINK, OTHER = "file", "folder", "hard link", "symbolic link", "other"
_KINDS = {b"0": FILE, b"\0": FILE, b"7": FILE, b"S": FILE, b"1": HARD_LINK, b"2": SYMBOLIC_LINK, b"5": FOLDER,
          b"3": OTHER, b"4": OTHER, b"6": OTHER}  # fmt: skip
_BLOCK = 512
_MAX_SPECIAL = 1 << 20
_MAX_SIZE = 1 << 50
_HEADER = struct.Struct("100s24x12s12x8sc100s8s80x155s")


class TarError(Exception):
    """The bytes are no tar archive, or a damaged one; the message is one line."""


class Source(Protocol):
    """Bytes in order."""

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer only at the end."""

    def piece(self, most: int) -> bytes:
        """Some of the next bytes, b"" only at the end."""

    def skip(self, size: int) -> int:
        """Pass bytes; how many there were."""


class Member(NamedTuple):
    """One entry. ``size``: bytes of its content in the archive; ``sparse``: they are not the file as it stands."""

    name: str
    kind: str
    size: int
    target: str
    sparse: bool


class TarStream:
    """Entries one after the other; ``piece`` and ``skip`` go through the content of the last one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = self._padding = 0
        self.entries = 0

    def next(self) -> Optional[Member]:
        """The next entry, None at the end. Raises TarError, and what the source raises."""
        self._pass(self._left + self._padding)
        pax: Dict[str, str] = {}
        name = target = None
        while True:
            block = self._source.take(_BLOCK)
            if not block and not self.entries:
                raise TarError("it is empty")
            if not block or block.count(0) == _BLOCK:
                return None
            plain_name, size, kind, plain_target = _fields(block)
            if kind in (b"x", b"X"):
                pax.update(_records(self._special(size)))
            elif kind == b"L":
                name = _text(self._special(size))
            elif kind == b"K":
                target = _text(self._special(size))
            elif kind == b"g":
                self._pass(_padded(size))
            else:
                break
        self.entries += 1
        size = _decimal(pax["size"]) if "size" in pax else size
        sort = _KINDS.get(kind, FILE)
        name = pax.get("path", name if name is not None else plain_name)
        if sort == FILE and name.endswith("/") and kind == b"\0":  # v7 has no type for folders
            sort = FOLDER
        if sort != FILE:
            size = 0
        if kind == b"S":
            self._sparse_headers(block)
        self._left, self._padding = size, -size % _BLOCK
        target = pax.get("linkpath", target if target is not None else plain_target)
        sparse = kind == b"S" or (bool(pax) and any(key.startswith("GNU.sparse.") for key in pax))
        return Member(pax.get("GNU.sparse.name", name), sort, size, target, sparse)

    def piece(self, most: int) -> bytes:
        """Some bytes of the content, b"" at its end. Raises TarError where the archive ends before."""
        if not self._left:
            return b""
        data = self._source.piece(min(most, self._left))
        if not data:
            raise TarError("it ends inside a file")
        self._left -= len(data)
        return data

    def skip(self, size: int) -> None:
        """Pass bytes of the content. Raises TarError where the archive ends before."""
        size = min(size, self._left)
        self._left -= size
        self._pass(size)

    def _pass(self, size: int) -> None:
        if size and self._source.skip(size) < size:
            raise TarError("it ends inside a file")

    def _special(self, size: int) -> bytes:
        if size > _MAX_SPECIAL:
            raise TarError(f"a name or extended header has {size:,} bytes")
        data = self._source.take(_padded(size))
        if len(data) < size:
            raise TarError("it ends inside a header")
        return data[:size]

    def _sparse_headers(self, block: bytes) -> None:
        more = block[482]
        for _ in range(_MAX_SPECIAL // _BLOCK):
            if not more:
                return
            block = self._source.take(_BLOCK)
            if len(block) < _BLOCK:
                raise TarError("it ends inside a header")
            more = block[504]
        raise TarError("the map of a sparse file does not end")


def _fields(block: bytes) -> Tuple[str, int, bytes, str]:
    """Name, size, type and link target of a header."""
    if len(block) < _BLOCK:
        raise TarError("it ends inside a header")
    name, size, check, kind, target, magic, prefix = _HEADER.unpack_from(block)
    total = sum(block) - sum(check) + 256
    try:
        expected = _number(check)
    except TarError:
        expected = -1
    if total != expected and not _signed(block, expected):
        raise TarError("a header does not agree with its check sum")
    folder = prefix.split(b"\0", 1)[0] if magic[:6] == b"ustar\0" else b""
    full = name.split(b"\0", 1)[0]
    link = _text(target) if target[0] else ""
    return (folder + b"/" + full if folder else full).decode("utf-8", "surrogateescape"), _number(size), kind, link


def _signed(block: bytes, check: int) -> bool:
    """Whether the sum agrees as the oldest writers made it, over signed bytes."""
    total: int = sum(struct.unpack("512b", block)) - sum(struct.unpack("8b", block[148:156]))
    return total + 256 == check


def _number(field: bytes) -> int:
    """An octal number, or one in base 256 (its first bit is set)."""
    if field[0] & 0x80:
        value = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    else:
        try:
            value = int(field.split(b"\0", 1)[0].strip() or b"0", 8)
        except ValueError:
            raise TarError("a number in a header is none") from None
    return _bounded(value)


def _decimal(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 20:
        raise TarError("a size in a header is no number")
    return _bounded(int(text))


def _bounded(value: int) -> int:
    if not 0 <= value <= _MAX_SIZE:
        raise TarError("a header names a size that no file has")
    return value


def _records(data: bytes) -> Dict[str, str]:
    """`27 path=...\\n` and so on; what comes after a damaged one is left out."""
    found: Dict[str, str] = {}
    at = 0
    while at < len(data):
        length, blank, _ = data[at : at + 20].partition(b" ")
        if not blank or not length.isdigit():
            break
        stop = at + int(length)
        if stop <= at + len(length) or stop > len(data):
            break
        key, equals, value = data[at + len(length) + 1 : stop - 1].partition(b"=")
        if equals:
            found[_text(key)] = value.decode("utf-8", "surrogateescape")
        at = stop
    return found


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _padded(size: int) -> int:
    return size + -size % _BLOCK
