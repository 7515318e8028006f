"""/etc/ld.so.cache: which file the loader would take for a library name, without running ldconfig.

Two formats, little endian: ``ld.so-1.7.0`` (12-byte rows) and ``glibc-ld.so.cache1.1`` (24-byte rows), the second also
behind the first in one file. Source: glibc, sysdeps/generic/dl-cache.h and ldconfig.h.
"""

from __future__ import annotations

import struct
from typing import Dict, List, NamedTuple, Tuple

from .elf import cstring
from .reader import read_bounded

_OLD, _NEW = b"ld.so-1.7.0", b"glibc-ld.so.cache1.1"
_MAX_BYTES = 16 << 20
_MAX_ROWS = 200_000
_MAX_PATH = 4096
_MAX_CHARACTERS = 16 << 20
# Architecture bits of the flags word, of the 64-bit ABI of each machine.
_ARCHITECTURES = {
    "x86_64": 0x0300, "s390x": 0x0400, "ppc64le": 0x0500, "aarch64": 0x0A00, "riscv64": 0x1000, "loongarch64": 0x1200,
}  # fmt: skip


class LdCache(NamedTuple):
    """``libraries``: file name -> paths in the loader's order. ``problem``: "" or one line; what was read is kept."""

    libraries: Dict[str, Tuple[str, ...]]
    problem: str


def read_ldcache(path: str, machine: str) -> LdCache:
    """Read the cache file. Raises OSError."""
    return parse_ldcache(read_bounded(path, _MAX_BYTES), machine)


def parse_ldcache(data: bytes, machine: str) -> LdCache:
    """Libraries of the 64-bit ABI of ``machine`` (as ``uname -m`` says it)."""
    wanted = _ARCHITECTURES.get(machine)
    if wanted is None:
        return LdCache({}, "no known loader cache for machine %s" % machine[:40])
    if data.startswith(_NEW):
        return _rows(data, 0, wanted)
    if not data.startswith(_OLD):
        return LdCache({}, "not a loader cache")
    if len(data) < 16:
        return LdCache({}, "loader cache is cut off")
    count = int.from_bytes(data[12:16], "little")
    behind = 16 + 12 * count
    for start in (behind, (behind + 7) // 8 * 8):
        if data[start : start + len(_NEW)] == _NEW:
            return _rows(data, start, wanted)
    return _collect(data, 16, 12, count, behind, wanted)


def _rows(data: bytes, start: int, wanted: int) -> LdCache:
    if len(data) < start + 48:
        return LdCache({}, "loader cache is cut off")
    if data[start + 28] & 3 == 3:
        return LdCache({}, "big-endian loader cache is not supported")
    return _collect(data, start + 48, 24, int.from_bytes(data[start + 20 : start + 24], "little"), start, wanted)


def _collect(data: bytes, first: int, size: int, count: int, strings: int, wanted: int) -> LdCache:
    found: Dict[str, List[str]] = {}
    problem, characters = "", 0
    rows = min(count, _MAX_ROWS, max(0, len(data) - first) // size)
    if rows < count:
        problem = "loader cache is cut off"
    for index in range(rows):
        flags, key, value = struct.unpack_from("<III", data, first + index * size)
        if flags & 0xFF00 != wanted:
            continue
        name, path = cstring(data, strings + key), cstring(data, strings + value, _MAX_PATH)
        characters += len(name) + len(path)
        if characters > _MAX_CHARACTERS:  # rows that all point into the same bytes
            problem = "loader cache names more than it can hold"
            break
        if name and path:
            paths = found.setdefault(name, [])
            if path not in paths and len(paths) < 64:
                paths.append(path)
    return LdCache({name: tuple(paths) for name, paths in found.items()}, problem)
