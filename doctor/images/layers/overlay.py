"""Layers stacked on each other, newest first: what a container would see of the files that matter.

In a newer layer, `.wh.NAME` hides NAME in the older ones, `.wh..wh..opq` hides everything in a folder, and anything
that is not a folder hides what was below its path. Names never point outside the root: `..` stops there.
Source: OCI image-spec, layer.md (whiteouts, opaque whiteout).
"""

from __future__ import annotations

from posixpath import normpath

from ...formats.tar_stream import FILE, FOLDER, HARD_LINK, SYMBOLIC_LINK
from ..source import ImageError

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_MAX_NODES = 100_000
_MAX_HIDING = 100_000
_MAX_LINK = 4096


class Node:
    """A file, link or folder in the result; `content`: what was read from it, None if nothing was."""

    __slots__ = ("content", "kind", "layer", "size", "target")

    def __init__(self, kind: str, size: int, target: str, layer: int) -> None:
        self.kind, self.size, self.target, self.layer = kind, size, target, layer
        self.content: object = None


class Overlay:
    """`nodes`: path without leading slash to what is there; `layer`: the one being read, 0 for the newest."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.layer = 0
        self.full = False
        self._hidden: set[str] = set()
        self._opaque: set[str] = set()
        self._files: set[int] = set()  # hashes: an image has many files, and a collision once in 2^60 does no harm
        self._folders: set[int] = set()
        self._new_hidden: set[str] = set()
        self._new_opaque: set[str] = set()
        self._new_files: set[int] = set()
        self._new_folders: set[int] = set()

    def next_layer(self) -> None:
        """From now on, apply what the finished layer hides."""
        self._hidden |= self._new_hidden
        self._opaque |= self._new_opaque
        self._files |= self._new_files
        self._folders |= self._new_folders
        for new in (self._new_hidden, self._new_opaque, self._new_files, self._new_folders):
            new.clear()
        if len(self._hidden) + len(self._opaque) > _MAX_HIDING:
            raise ImageError(f"the layers hide more than {_MAX_HIDING:,} files, which is implausible for an image")
        self.layer += 1

    def whiteout(self, path: str) -> bool:
        """Whether the entry only hides others; if so, it is noted."""
        at = path.rfind("/") + 1
        if not path.startswith(_WHITEOUT, at):
            return False
        if path.startswith(_OPAQUE, at):
            self._new_opaque.add(path[: max(at - 1, 0)])
        else:
            self._new_hidden.add(path[:at] + path[at + len(_WHITEOUT) :])
        if len(self._new_hidden) + len(self._new_opaque) > _MAX_HIDING:
            raise ImageError(f"a layer hides more than {_MAX_HIDING:,} files, which is implausible for a layer")
        return True

    def passed(self, path: str, kind: str) -> None:
        """Note an entry that is not needed: an older layer may have a folder or a link at its path."""
        if kind == FOLDER:
            if len(self._new_folders) < _MAX_HIDING:
                self._new_folders.add(hash(path))
        elif "." not in path[path.rfind("/") + 1 :] and len(self._new_files) < _MAX_HIDING:
            self._new_files.add(hash(path))

    def visible(self, path: str, kind: str = FILE) -> bool:
        """Whether an entry of this layer is visible under the newer ones."""
        if path in self.nodes or path in self._hidden or hash(path) in self._files:
            return False
        if kind != FOLDER and hash(path) in self._folders:
            return False
        if "" in self._opaque:
            return False
        at = path.find("/")
        while at >= 0:
            above = path[:at]
            if above in self._opaque or above in self._hidden or hash(above) in self._files:
                return False
            node = self.nodes.get(above)
            if node is not None and node.kind != FOLDER and node.layer < self.layer:
                return False
            at = path.find("/", at + 1)
        return True

    def add(self, path: str, kind: str, size: int, target: str) -> Node | None:
        """The entry if it is visible; a later entry in one layer replaces an earlier one."""
        node = self.nodes.get(path)
        if node is not None and kind == node.kind == FOLDER:
            return node
        if node is not None and node.layer == self.layer:
            del self.nodes[path]
        if not self.visible(path, kind):
            return None
        if len(self.nodes) >= _MAX_NODES:
            self.full = True
            return None
        node = self.nodes[path] = Node(kind, size, target[:_MAX_LINK], self.layer)
        return node

    def finish(self) -> None:
        """Hard links become the files they refer to, and what is below a link moves to the link's target."""
        for node in list(self.nodes.values()):
            if node.kind == HARD_LINK:
                other = self.nodes.get(clean(node.target))
                if other is not None and other.kind == HARD_LINK:
                    other = self.nodes.get(clean(other.target))
                node.kind = FILE
                if other is not None and other.kind == FILE:
                    node.size, node.content = other.size, other.content
        for path in sorted(self.nodes):
            node = self.nodes[path]
            moved = self._behind_links(path)
            if moved != path and moved not in self.nodes:
                self.nodes[moved] = node

    def _behind_links(self, path: str) -> str:
        """The path with links among its folders followed, as an engine unpacks an entry below a link."""
        for _ in range(8):
            at = path.find("/")
            while at >= 0:
                node = self.nodes.get(path[:at])
                if node is not None and node.kind == SYMBOLIC_LINK:
                    folder = path[: path.rfind("/", 0, at) + 1] if not node.target.startswith("/") else ""
                    path = clean(folder + node.target + path[at:])
                    break
                at = path.find("/", at + 1)
            else:
                return path
        return path


def clean(name: str) -> str:
    """The path below the root, without leading slash; empty for the root itself."""
    if name[:1] not in "./" and "//" not in name and "/." not in name and not name.endswith("/"):
        return name
    return normpath("/" + name).lstrip("/")
