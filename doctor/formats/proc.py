"""Text files of Linux about one process and its Python: mounts, mapped libraries, pyvenv.cfg."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Tuple

from .lazy import lazy

_MAX_TEXT = 8 << 20
_OCTAL = lazy(r"\\([0-7]{3})")
_MAPPED = lazy(r"^[0-9a-f]+-[0-9a-f]+ \S{4} [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ \d+\s+(/.*)$", re.MULTILINE)
_DELETED = " (deleted)"


class Mount(NamedTuple):
    """One line of mountinfo; ``root`` is the part of the file system that is mounted, options as written."""

    mount_point: str
    root: str
    fstype: str
    source: str
    options: Tuple[str, ...]
    super_options: Tuple[str, ...]

    @property
    def read_only(self) -> bool:
        """Read-only for this mount or for the whole file system."""
        return "ro" in self.options or "ro" in self.super_options


class MappedFile(NamedTuple):
    """A file in the memory of a process; ``deleted``: replaced on disk since (an update without restart)."""

    path: str
    deleted: bool


def parse_mountinfo(text: str) -> List[Mount]:
    """/proc/self/mountinfo; lines that are no such line are skipped."""
    found = []
    for line in text[:_MAX_TEXT].splitlines():
        left, dash, right = line.partition(" - ")
        words, tail = left.split(" "), right.split(" ")
        if not dash or len(words) < 6 or len(tail) < 2:
            continue
        found.append(
            Mount(
                _plain(words[4]),
                _plain(words[3]),
                tail[0],
                _plain(tail[1]),
                tuple(words[5].split(",")),
                tuple(tail[2].split(",")) if len(tail) > 2 else (),
            )
        )
    return found


def mount_of(mounts: List[Mount], path: str) -> "Mount | None":
    """The mount that ``path`` (absolute, resolved) lies on: the longest mount point above it, the last of equals."""
    best = None
    for mount in mounts:
        point = mount.mount_point.rstrip("/")
        if (path == point or path.startswith(point + "/")) and (
            best is None or len(point) >= len(best.mount_point.rstrip("/"))
        ):
            best = mount
    return best


def parse_maps(text: str) -> List[MappedFile]:
    """/proc/PID/maps: the mapped files, each once, in order of address."""
    found: Dict[MappedFile, None] = {}
    for match in _MAPPED.finditer(text[:_MAX_TEXT]):
        path = match.group(1)
        deleted = path.endswith(_DELETED)
        found[MappedFile(path[: -len(_DELETED)] if deleted else path, deleted)] = None
    return list(found)


def mapped_libraries(text: str) -> List[MappedFile]:
    """Those of ``parse_maps`` that are shared libraries by name (``.so`` or ``.so.N``)."""
    return [f for f in parse_maps(text) if re.search(r"\.so(?:\.[\w.+-]+)?$", f.path)]


def parse_pyvenv_cfg(text: str) -> Dict[str, str]:
    """pyvenv.cfg: keys in small letters (``home``, ``version``, ``version_info``, ``include-system-site-packages``)."""
    found: Dict[str, str] = {}
    for line in text[:65536].splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip():
            found.setdefault(key.strip().lower(), value.strip())
    return found


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), text)
