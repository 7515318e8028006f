"""What the dynamic loader would read of a library: needed libraries and search paths."""

from __future__ import annotations

import struct
from typing import NamedTuple, Optional, Tuple

from .elf import PT_DYNAMIC, SHT_DYNAMIC, Elf, ElfError, cstring

DT_STRTAB = 5
_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 14, 15, 29
_MAX_DYNAMIC_BYTES = 1 << 16
_MAX_STRING = 4096
_MAX_VALUES = 1024  # of one tag: needed libraries, search paths


class Dynamic(NamedTuple):
    """The dynamic section; paths as written, ``$ORIGIN`` not replaced."""

    needed: Tuple[str, ...]
    soname: str
    rpath: Tuple[str, ...]
    runpath: Tuple[str, ...]


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

    return Dynamic(values(_DT_NEEDED), next(iter(values(_DT_SONAME)), ""), paths(_DT_RPATH), paths(_DT_RUNPATH))


def dynamic_entries(elf: Elf) -> Tuple[Tuple[int, int], ...]:
    """(tag, value) of each row of the dynamic section; empty for a file without one. Raises as `read_dynamic`."""
    table = _table(elf)
    return table.entries if table else ()


def _table(elf: Elf) -> Optional[_Table]:
    extent = next(((s.offset, s.size) for s in elf.segments if s.type == PT_DYNAMIC), None)
    section = next((s for s in elf.sections if s.type == SHT_DYNAMIC), None)
    if extent is None and section is not None:
        extent = (section.offset, section.size)
    if extent is None:
        return None
    layout = struct.Struct("<qQ" if elf.bits == 64 else "<iI")
    data = elf.read(extent[0], min(extent[1], _MAX_DYNAMIC_BYTES))
    if len(data) < layout.size:
        raise ElfError("dynamic section is cut off")
    entries = []
    for tag, value in layout.iter_unpack(data[: len(data) // layout.size * layout.size]):
        if tag == 0:
            break
        entries.append((tag, value))
    address = next((value for tag, value in entries if tag == DT_STRTAB), None)
    strings = elf.file_offset(address) if address is not None else None
    if strings is None and section is not None and 0 < section.link < len(elf.sections):
        strings = elf.sections[section.link].offset
    return _Table(tuple(entries), strings)
