"""Bounded reading of files under a root folder; everything that is looked at is emitted as a raw line.

Paths that go in and out are paths as seen inside the root. Symbolic links are followed as a process with that root
would follow them, so that a root folder's absolute links never lead to files of this machine.
"""

from __future__ import annotations

import base64
import errno
import os
import stat
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar

from .path_words import clean, why

T = TypeVar("T")
Emit = Callable[[Dict[str, Any]], None]

TEXT_LIMIT = 256 * 1024
_MAX_NAMES = 20000
_MAX_LINKS = 40
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class Files:
    """What a gatherer looks through. No method raises OSError: what cannot be read becomes a `missing` line."""

    def __init__(self, emit: Emit, root: str = "/") -> None:
        self.emit = emit
        self.root = "" if root in ("", "/") else os.path.abspath(root)
        self._texts: Dict[str, Optional[str]] = {}
        self._names: Dict[str, Optional[List[str]]] = {}
        self._parents: Dict[str, str] = {}
        self._capped: Dict[Tuple[str, str], bool] = {}

    def on_disk(self, path: str) -> str:
        """The path to open for `path`. Raises OSError (ELOOP) on a chain of links without end."""
        return self.root + self._resolve(path) if self.root else path

    def text(self, path: str, limit: int = TEXT_LIMIT) -> Optional[str]:
        """The first `limit` bytes as text (undecodable bytes replaced), None where it cannot be read."""
        if path in self._texts:
            return self._texts[path]
        data = self._read(path, limit)
        text = None if data is None else data.decode("utf-8", "replace")
        self._texts[path] = text
        if text is not None:
            line: Dict[str, Any] = {"at": "file", "path": clean(path), "text": text}
            if data is not None and len(data) >= limit:
                line["cut"] = True
            self.emit(line)
            if "cut" in line and limit == TEXT_LIMIT:
                self.cap("file-bytes", limit, None, path)
        return text

    def peek(self, path: str, limit: int = TEXT_LIMIT) -> Optional[str]:
        """As `text`, but emits nothing: for files of which only a part is worth a line."""
        try:
            return self._bytes(path, limit).decode("utf-8", "replace")
        except OSError:
            return None

    def peek_bytes(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes, none where it cannot be read; emits nothing."""
        try:
            return self._bytes(path, limit)
        except (OSError, ValueError):
            return b""

    def head(self, path: str) -> None:
        """Emit a metadata file's header, up to its first empty line; its body is a long description."""
        if path in self._texts:
            return
        data = self._read(path, TEXT_LIMIT)
        if data is not None:
            text = data.decode("utf-8", "replace").replace("\r\n", "\n").partition("\n\n")[0]
            self._texts[path] = text
            self.emit({"at": "file", "path": clean(path), "text": text + "\n"})

    def data(self, path: str, limit: int) -> Optional[bytes]:
        """The first `limit` bytes; emitted as base64."""
        data = self._read(path, limit)
        if data is not None:
            self.emit({"at": "data", "path": clean(path), "base64": base64.b64encode(data).decode("ascii")})
        return data

    def names(self, path: str, keep: Optional[Callable[[str], bool]] = None) -> Optional[List[str]]:
        """The sorted names in a folder, None where it cannot be listed. Only names that `keep` accepts are emitted."""
        if path not in self._names:
            try:
                there = sorted(self.listed(path))
            except OSError as error:
                self._names[path] = None
                self.missing(path, error)
            else:
                found = self._names[path] = self.first(there, _MAX_NAMES, "folder-names", path)
                kept = found if keep is None else [name for name in found if keep(name)]
                self.emit({"at": "dir", "path": clean(path), "names": [clean(n) for n in kept], "total": len(there)})
        return self._names[path]

    def first(self, items: List[T], most: int, what: str, path: str = "") -> List[T]:
        """The first `most` of a list; where it is longer, that is emitted: who reads it may not take it for all."""
        if len(items) > most:
            self.cap(what, most, len(items), path)
        return items[:most]

    def cap(self, what: str, looked: int, listed: Optional[int], path: str = "") -> None:
        """Say once that only the first `looked` of `listed` (None: not counted) are looked at."""
        if (what, path) not in self._capped:
            self._capped[what, path] = True
            self.emit({"at": "cap", "what": what, "looked": looked, "listed": listed, "path": clean(path)})

    def real(self, path: str) -> str:
        """The path with all links resolved (emitted where it differs); the path itself where that fails."""
        real = self.resolved(path)
        if real != path:
            self.emit({"at": "link", "path": clean(path), "real": clean(real)})
        return real

    def resolved(self, path: str) -> str:
        """As `real`, but emits nothing."""
        try:
            return (self._resolve(path) or "/") if self.root else os.path.realpath(path)
        except (OSError, ValueError):
            return path

    def status(self, path: str) -> Tuple[int, int]:
        """(mode, bytes) of what the path leads to; (0, -1) where it cannot be looked at. Emits nothing."""
        try:
            return self._stat(path)
        except (OSError, ValueError):
            return 0, -1

    def kind(self, path: str) -> str:
        """`file`, `dir`, `other` or, where there is none or it cannot be looked at, an empty text. Emits nothing."""
        mode = self.status(path)[0]
        return "file" if stat.S_ISREG(mode) else "dir" if stat.S_ISDIR(mode) else "other" if mode else ""

    def exists(self, path: str) -> bool:
        """Whether it is there; the answer is emitted."""
        try:
            mode = self._stat(path)[0]
        except (OSError, ValueError) as error:
            self.missing(path, error)
            return False
        self.emit({"at": "exists", "path": clean(path), "kind": "dir" if stat.S_ISDIR(mode) else "file"})
        return True

    def size(self, path: str) -> int:
        """Bytes, -1 where it cannot be looked at. Emits nothing."""
        return self.status(path)[1]

    def readlink(self, path: str) -> str:
        """The text of a link, empty where it is none. Emits nothing."""
        try:
            head, tail = os.path.split(path)
            return self._link(os.path.join(self.on_disk(head), tail))
        except (OSError, ValueError):
            return ""

    def listed(self, path: str) -> List[str]:
        """The names in a folder, in any order; emits nothing. Raises OSError."""
        return os.listdir(self.on_disk(path))

    def listed_kinds(self, path: str) -> List[Tuple[str, bool]]:
        """(name, whether it is a folder), sorted; emits nothing. Raises OSError."""
        with os.scandir(self.on_disk(path)) as entries:
            return sorted((entry.name, entry.is_dir()) for entry in entries)

    def writable(self, path: str) -> bool:
        """Whether this user may write there."""
        return os.access(self.on_disk(path), os.W_OK)

    def silent(self) -> "Files":
        """The same root for a look of which nothing is emitted."""
        return Files(lambda line: None, self.root or "/")

    def missing(self, path: str, error: Exception) -> None:
        """Say that a path could not be looked at, and why."""
        reason, detail = why(error)
        self.emit({"at": "missing", "path": clean(path), "reason": reason, "detail": detail})

    def _read(self, path: str, limit: int) -> Optional[bytes]:
        try:
            return self._bytes(path, limit)
        except (OSError, ValueError) as error:
            self.missing(path, error)
            return None

    def _stat(self, path: str) -> Tuple[int, int]:
        """(mode, bytes) of what the path leads to. Raises OSError, ValueError."""
        status = os.stat(self.on_disk(path))
        return status.st_mode, status.st_size

    def _link(self, disk_path: str) -> str:
        """The text of the link at a path whose folders are resolved. Raises OSError."""
        return os.readlink(disk_path)

    def _bytes(self, path: str, limit: int) -> bytes:
        # O_NONBLOCK: opening a pipe that somebody named like a file must not hang.
        fd = os.open(self.on_disk(path), _FLAGS)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            data = os.read(fd, limit)
            if len(data) == limit or not data:
                return data
            pieces = [data]  # /proc gives its files a page at a time
            left = limit - len(data)
            while left > 0:
                more = os.read(fd, left)
                if not more:
                    break
                pieces.append(more)
                left -= len(more)
            return b"".join(pieces)
        finally:
            os.close(fd)

    def _resolve(self, path: str) -> str:
        head, tail = os.path.split(path)
        if head not in self._parents:
            self._parents[head] = self._walk(head)
        return self._walk(tail, self._parents[head])

    def _walk(self, path: str, start: str = "") -> str:
        """`path` from the folder `start` (already resolved), link by link, never above the root."""
        todo = [part for part in path.split("/") if part][::-1]
        done, links = start, 0
        while todo:
            part = todo.pop()
            if part == ".":
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            try:
                link = self._link(self.root + done + "/" + part)
            except OSError:
                done += "/" + part
                continue
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, "too many links")
            if link.startswith("/"):
                done = ""
            todo += [piece for piece in link.split("/") if piece][::-1]
        return done
