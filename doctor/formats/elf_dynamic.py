"""What the dynamic loader would read of a library: needed libraries, search paths, symbol versions, symbols."""

from __future__ import annotations

import struct
from typing import Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

from .elf import PT_DYNAMIC, SHT_DYNAMIC, Elf, ElfError, cstring

_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 4, 5, 6, 14, 15, 29
_DT_GNU_HASH, _DT_VERNEED, _DT_VERNEEDNUM = 0x6FFFFEF5, 0x6FFFFFFE, 0x6FFFFFFF
_MAX_DYNAMIC_BYTES = 1 << 16
_MAX_STRING = 4096
_MAX_VERNEED_BYTES = 1 << 17
_MAX_VERSIONS = 1024
_MAX_CHAIN = 4096
_MAX_VALUES = 1024  # of one tag: needed libraries, search paths


class Dynamic(NamedTuple):
    """The dynamic section; paths as written, ``$ORIGIN`` not replaced."""

    needed: Tuple[str, ...]
    soname: str
    rpath: Tuple[str, ...]
    runpath: Tuple[str, ...]
    version_needs: Dict[str, Tuple[str, ...]]
    """Needed library -> version names asked of it (``GLIBC_2.17``)."""


class _Table(NamedTuple):
    entries: Tuple[Tuple[int, int], ...]
    strings: Optional[int]


def read_dynamic(elf: Elf) -> Optional[Dynamic]:
    """The dynamic section, or None for a file without one. Raises ElfError; OSError from the reader."""
    table = _table(elf)
    if table is None:
        return None

    def text(offset: int) -> str:
        return "" if table.strings is None else cstring(elf.read(table.strings + offset, _MAX_STRING), 0, _MAX_STRING)

    def values(tag: int) -> Tuple[str, ...]:
        return tuple(text(value) for value in [v for t, v in table.entries if t == tag][:_MAX_VALUES])

    def paths(tag: int) -> Tuple[str, ...]:
        return tuple(p for joined in values(tag)[:4] for p in joined.split(":") if p)[:_MAX_VALUES]

    return Dynamic(
        values(_DT_NEEDED),
        next(iter(values(_DT_SONAME)), ""),
        paths(_DT_RPATH),
        paths(_DT_RUNPATH),
        _version_needs(elf, table),
    )


def max_version(dynamic: Dynamic, prefix: str) -> Optional[Tuple[int, ...]]:
    """The highest ``PREFIX_x.y`` that is needed (prefix GLIBC, GLIBCXX, CXXABI) as numbers, or None."""
    found = []
    for names in dynamic.version_needs.values():
        for name in names:
            parts = name[len(prefix) + 1 :].split(".")
            if name.startswith(prefix + "_") and all(p.isascii() and p.isdecimal() and len(p) < 9 for p in parts):
                found.append(tuple(int(p) for p in parts))
    return max(found, default=None)


def defined_symbols(elf: Elf, names: Iterable[str]) -> Optional[Set[str]]:
    """Those of ``names`` that the library exports, by its hash table.

    None where it has no hash table to ask. Raises ElfError; OSError from the reader.
    """
    table = _table(elf)
    if table is None or table.strings is None:
        return None
    symbols = _offset(elf, table, _DT_SYMTAB)
    gnu, sysv = _offset(elf, table, _DT_GNU_HASH), _offset(elf, table, _DT_HASH)
    if symbols is None or (gnu is None and sysv is None):
        return None
    found = set()
    for name in names:
        candidates = _gnu_candidates(elf, gnu, name) if gnu is not None else _sysv_candidates(elf, sysv or 0, name)
        if any(_is_defined(elf, symbols, table.strings, index, name) for index in candidates):
            found.add(name)
    return found


def _table(elf: Elf) -> Optional[_Table]:
    place = next(((s.offset, s.size) for s in elf.segments if s.type == PT_DYNAMIC), None)
    section = next((s for s in elf.sections if s.type == SHT_DYNAMIC), None)
    if place is None and section is not None:
        place = (section.offset, section.size)
    if place is None:
        return None
    layout = struct.Struct("<qQ" if elf.bits == 64 else "<iI")
    data = elf.read(place[0], min(place[1], _MAX_DYNAMIC_BYTES))
    if len(data) < layout.size:
        raise ElfError("dynamic section is cut off")
    entries = []
    for tag, value in layout.iter_unpack(data[: len(data) // layout.size * layout.size]):
        if tag == 0:
            break
        entries.append((tag, value))
    address = next((value for tag, value in entries if tag == _DT_STRTAB), None)
    strings = elf.file_offset(address) if address is not None else None
    if strings is None and section is not None and 0 < section.link < len(elf.sections):
        strings = elf.sections[section.link].offset
    return _Table(tuple(entries), strings)


def _offset(elf: Elf, table: _Table, wanted: int) -> Optional[int]:
    return next((elf.file_offset(value) for tag, value in table.entries if tag == wanted), None)


def _version_needs(elf: Elf, table: _Table) -> Dict[str, Tuple[str, ...]]:
    start = _offset(elf, table, _DT_VERNEED)
    count = next((value for tag, value in table.entries if tag == _DT_VERNEEDNUM), 0)
    if start is None or table.strings is None:
        return {}
    data = elf.read(start, _MAX_VERNEED_BYTES)
    strings, position, left = table.strings, 0, _MAX_VERSIONS
    needs: Dict[str, Tuple[str, ...]] = {}
    for _ in range(min(count, _MAX_VERSIONS)):
        if position + 16 > len(data):
            break
        _, rows, file, first, following = struct.unpack_from("<HHIII", data, position)
        names: List[str] = []
        row = position + first
        while rows and left and row + 16 <= len(data):
            _, _, _, name, step = struct.unpack_from("<IHHII", data, row)
            names.append(cstring(elf.read(strings + name, 256), 0))
            rows, left, row = rows - 1, left - 1, row + step
            if not step:
                break
        needs[cstring(elf.read(strings + file, 256), 0)] = tuple(names)
        if not following:
            break
        position += following
    return needs


def _gnu_candidates(elf: Elf, start: int, name: str) -> List[int]:
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    head = elf.read(start, 16)
    if len(head) < 16:
        raise ElfError("symbol hash table is cut off")
    buckets, first, bloom, _ = struct.unpack("<IIII", head)
    if not buckets:
        return []
    bucket_at = start + 16 + bloom * (elf.bits // 8)
    index = _word(elf, bucket_at + 4 * (value % buckets))
    found = []
    if index >= first:
        chain = elf.read(bucket_at + 4 * buckets + 4 * (index - first), 4 * _MAX_CHAIN)
        for step, (word,) in enumerate(struct.iter_unpack("<I", chain[: len(chain) // 4 * 4])):
            if word | 1 == value | 1:
                found.append(index + step)
            if word & 1:
                break
    return found


def _sysv_candidates(elf: Elf, start: int, name: str) -> List[int]:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    buckets = _word(elf, start)
    found: List[int] = []
    index = _word(elf, start + 8 + 4 * (value % buckets)) if buckets else 0
    while index and len(found) < _MAX_CHAIN:
        found.append(index)
        index = _word(elf, start + 8 + 4 * buckets + 4 * index)
    return found


def _word(elf: Elf, offset: int) -> int:
    data = elf.read(offset, 4)
    if len(data) < 4:
        raise ElfError("symbol hash table is cut off")
    return int.from_bytes(data, "little")


def _is_defined(elf: Elf, symbols: int, strings: int, index: int, name: str) -> bool:
    size = 24 if elf.bits == 64 else 16
    data = elf.read(symbols + index * size, size)
    if len(data) < size:
        return False
    offset = int.from_bytes(data[:4], "little")
    section = int.from_bytes(data[6:8] if elf.bits == 64 else data[14:16], "little")
    return section != 0 and elf.read(strings + offset, len(name.encode()) + 1) == name.encode() + b"\0"
