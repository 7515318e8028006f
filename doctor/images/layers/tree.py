"""An image's files as the file gatherer sees them: they are on no file system, and nothing points outside them."""

from __future__ import annotations

import errno
import stat
from typing import Any

from ...formats.tar_stream import FILE, SYMBOLIC_LINK
from ...patient.files import Emit, Files
from .contents import Content
from .overlay import Node

_ROOT = "image:"
_MODES = {FILE: stat.S_IFREG | 0o644, SYMBOLIC_LINK: stat.S_IFLNK | 0o777}


class TreeFiles(Files):
    """Searches `nodes` (path without leading slash to what is there) instead of a disk."""

    def __init__(self, emit: Emit, nodes: dict[str, Node], folders: dict[str, set[str]] | None = None) -> None:
        super().__init__(emit, "/")
        self.root = _ROOT
        self._nodes = nodes
        self._folders = _folders(nodes) if folders is None else folders

    def listed(self, path: str) -> list[str]:
        """See `Files`."""
        names = self._folders.get(self._inside(path))
        if names is None:
            raise FileNotFoundError(errno.ENOENT, "no such folder")
        return list(names)

    def listed_kinds(self, path: str) -> list[tuple[str, bool]]:
        """See `Files`."""
        base = path.rstrip("/")
        return sorted((name, self.kind(f"{base}/{name}") == "dir") for name in self.listed(path))

    def writable(self, path: str) -> bool:
        """Whoever builds an image from this one can write."""
        return True

    def silent(self) -> Files:
        """See `Files`."""
        return TreeFiles(lambda line: None, self._nodes, self._folders)

    def content(self, disk_path: str) -> Content | None:
        """What was read from the file at a path from `on_disk`."""
        node = self._nodes.get(disk_path.removeprefix(_ROOT).strip("/"))
        return node.content if node is not None and isinstance(node.content, Content) else None

    def _inside(self, path: str) -> str:
        return self.on_disk(path).removeprefix(_ROOT).strip("/")

    def _stat(self, path: str) -> tuple[int, int]:
        inside = self._inside(path)
        if inside in self._folders:
            return stat.S_IFDIR | 0o755, 0
        node = self._nodes.get(inside)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return _MODES.get(node.kind, stat.S_IFCHR), node.size

    def _link(self, disk_path: str) -> str:
        node = self._nodes.get(disk_path.removeprefix(_ROOT).strip("/"))
        if node is None or node.kind != SYMBOLIC_LINK:
            raise OSError(errno.EINVAL, "not a link")
        return node.target

    def _bytes(self, path: str, limit: int) -> bytes:
        self._stat(path)
        content = self.content(self.on_disk(path))
        if content is None:
            raise OSError(errno.EIO, "it was not read")
        return content.data[:limit]


class TreeTools:
    """What the file gatherer needs to know about binary files, from what was read as they passed by."""

    def __init__(self, files: TreeFiles) -> None:
        self._files = files

    def elf(self, path: str) -> dict[str, Any] | None:
        """See probes/tools.py, as for the others."""
        content = self._files.content(path)
        return content.elf if content else None

    def code(self, path: str) -> dict[str, Any] | None:
        content = self._files.content(path)
        return content.code if content else None

    def torch_calls(self, path: str, torch: list[str], beside: list[str]) -> dict[str, Any] | None:
        """None: layers pass by only once, and symbol tables are not kept."""
        return None

    def note(self, path: str) -> dict[str, Any] | None:
        content = self._files.content(path)
        return content.note if content else {"problem": "it was not read"}

    def archs(self, path: str) -> list[str] | None:
        content = self._files.content(path)
        return content.archs if content else None

    def libc(self, path: str) -> str | None:
        content = self._files.content(path)
        return content.glibc if content else None

    def ldcache(self, path: str, machine: str) -> dict[str, list[str]] | None:
        from ...formats.ldcache import parse_ldcache

        content = self._files.content(path)
        cache = parse_ldcache(content.data, machine) if content else None
        if cache is None or (cache.problem and not cache.libraries):
            return None
        return {name: list(paths) for name, paths in cache.libraries.items()}


def _folders(nodes: dict[str, Node]) -> dict[str, set[str]]:
    """Each folder and the names in it; anything with contents is a folder, whether an entry says so or not."""
    found: dict[str, set[str]] = {"": set()}
    for path, node in nodes.items():
        if node.kind == "folder":
            found.setdefault(path, set())
        while path:
            above, _, name = path.rpartition("/")
            names = found.setdefault(above, set())
            if name in names:
                break
            names.add(name)
            path = above
    return found
