"""Which symbols a library leaves to others, and which of them another library defines, as the dynamic loader looks.

Layout: System V ABI, dynamic linking (DT_HASH); the GNU hash section as glibc reads it (DT_GNU_HASH). 64 bit alone.
"""

from __future__ import annotations

import struct
from typing import Dict, Iterable, List, Pattern, Set, Tuple

from .elf import Elf, ElfError
from .elf_dynamic import DT_STRTAB, dynamic_entries

_DT_HASH, _DT_SYMTAB, _DT_STRSZ, _DT_GNU_HASH = 4, 6, 10, 0x6FFFFEF5
_SYMBOL = struct.Struct("<IBBHQQ")
_GLOBAL = 1
"""STB_GLOBAL: the loader refuses a library whose symbol of this binding is nowhere; a weak one becomes 0."""
_MAX_SYMBOLS = 1 << 17
_MAX_STRINGS = 32 << 20
_MAX_CHAIN = 4096
_MAX_NAME = 4096


class Symbols:
    """The dynamic symbols of one library. Raises ElfError where none can be read, OSError from its reader."""

    __slots__ = (
        "_bloom",
        "_buckets",
        "_chains",
        "_elf",
        "_first",
        "_hash",
        "_names",
        "_names_bytes",
        "_shift",
        "_table",
    )

    def __init__(self, elf: Elf) -> None:
        entries: Dict[int, int] = {}
        for tag, value in dynamic_entries(elf):
            entries.setdefault(tag, value)
        if elf.bits != 64 or _DT_SYMTAB not in entries or not {_DT_HASH, _DT_GNU_HASH} & entries.keys():
            raise ElfError("no dynamic symbols that can be looked up")
        self._elf = elf
        self._table = self._offset_of(entries[_DT_SYMTAB])
        self._names = self._offset_of(entries.get(DT_STRTAB, 0))
        self._names_bytes = min(entries.get(_DT_STRSZ, 0), _MAX_STRINGS)
        self._hash = _DT_GNU_HASH if _DT_GNU_HASH in entries else _DT_HASH
        offset = self._offset_of(entries[self._hash])
        if self._hash == _DT_GNU_HASH:
            buckets, self._first, bloom, self._shift = self._numbers(offset, "<IIII")
            self._bloom = (offset + 16, bloom)
            self._buckets = (offset + 16 + 8 * bloom, buckets)
            self._chains = offset + 16 + 8 * bloom + 4 * buckets
        else:
            buckets, self._first = self._numbers(offset, "<II")  # as many chains as symbols
            self._bloom, self._shift = (0, 0), 0
            self._buckets = (offset + 8, buckets)
            self._chains = offset + 8 + 4 * buckets

    def undefined(self, pattern: Pattern[bytes]) -> Tuple[str, ...]:
        """The names that match and that some other library has to define, in the table's order."""
        # In a GNU hash section all that is defined is sorted behind what is not, and only that has a chain.
        count = min(self._first, _MAX_SYMBOLS)
        data = self._elf.read(self._table, count * _SYMBOL.size)
        names = self._elf.read(self._names, self._names_bytes)
        found: List[str] = []
        for name, info, _, section, _, _ in _SYMBOL.iter_unpack(data[: len(data) // _SYMBOL.size * _SYMBOL.size]):
            if section == 0 and info >> 4 == _GLOBAL and pattern.match(names, name):
                found.append(names[name : names.find(b"\0", name)][:_MAX_NAME].decode("ascii", "replace"))
        return tuple(found)

    def defined(self, names: Iterable[str]) -> Set[str]:
        """Those of the names that this library defines."""
        return {name for name in names if self._defines(name.encode("ascii", "replace"))}

    def _defines(self, name: bytes) -> bool:
        return self._in_gnu_hash(name) if self._hash == _DT_GNU_HASH else self._in_hash(name)

    def _in_gnu_hash(self, name: bytes) -> bool:
        offset, words = self._bloom
        buckets, count = self._buckets
        if not words or not count:
            return False
        value = _gnu_hash(name)
        (word,) = self._numbers(offset + value // 64 % words * 8, "<Q")
        if not (word >> value % 64 & word >> (value >> self._shift & 63) & 1):
            return False
        (first,) = self._numbers(buckets + value % count * 4, "<I")
        for index in range(first, first + _MAX_CHAIN) if first >= self._first else ():
            (chain,) = self._numbers(self._chains + (index - self._first) * 4, "<I")
            if chain | 1 == value | 1 and self._is(index, name):
                return True
            if chain & 1:  # the last of its bucket
                return False
        return False

    def _in_hash(self, name: bytes) -> bool:
        buckets, count = self._buckets
        if not count:
            return False
        (index,) = self._numbers(buckets + _hash(name) % count * 4, "<I")
        for _ in range(_MAX_CHAIN):
            if not index:
                return False
            if self._is(index, name):
                return True
            (index,) = self._numbers(self._chains + index * 4, "<I")
        return False

    def _is(self, index: int, name: bytes) -> bool:
        """Whether the symbol of that number is defined here under that name."""
        start, _, _, section, _, _ = self._numbers(self._table + index * _SYMBOL.size, _SYMBOL.format)
        return bool(section) and self._elf.read(self._names + start, len(name) + 1) == name + b"\0"

    def _offset_of(self, address: int) -> int:
        offset = self._elf.file_offset(address)
        if offset is None:
            raise ElfError("the dynamic section points outside of the file")
        return offset

    def _numbers(self, offset: int, layout: str) -> Tuple[int, ...]:
        size = struct.calcsize(layout)
        data = self._elf.read(offset, size)
        if len(data) < size:
            raise ElfError("the symbol table is cut off")
        return struct.unpack(layout, data)


def unresolved(names: Iterable[str], libraries: Iterable[Symbols]) -> Tuple[str, ...]:
    """Those of the names that none of the libraries defines, in their order."""
    left = dict.fromkeys(names)
    for library in libraries:
        for name in library.defined(left):
            del left[name]
    return tuple(left)


def _gnu_hash(name: bytes) -> int:
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _hash(name: bytes) -> int:
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value
