"""Files in a layout or archive by name: from a folder, or from a tar that is never unpacked."""

from __future__ import annotations

import os
import posixpath
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, Protocol, cast

from ..formats.given import Unopened, file_given
from .source import ImageError

PIECE = 1 << 20
_MAX_MEMBERS = 100_000
_MAX_READ = 8 << 20
MAX_TIMES = 200
"""Compressed data may unpack to this many times its size. Files of zeros exceed it: gzip 1000, zstd 10,000 times."""
_FREE = 256 << 20
"""This many bytes are always allowed: they take about a second."""


class Blobs(Protocol):
    """Named files; a name has no leading slash and never points outside."""

    def has(self, name: str) -> bool: ...

    def read(self, name: str, limit: int) -> bytes:
        """The whole file. Raises ImageError if there is none, or if it is over `limit` bytes."""

    def pieces(self, name: str, offset: int) -> Iterator[bytes]:
        """The file from `offset` on. Raises ImageError."""


class FolderBlobs:
    """Files in a folder. Links that point outside it are not followed."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._name = folder

    def has(self, name: str) -> bool:
        return self._folder.joinpath(name).is_file()

    def read(self, name: str, limit: int) -> bytes:
        with self._open(name) as file:
            return _whole(file, limit, f"{name} in {self._name}")

    def pieces(self, name: str, offset: int) -> Iterator[bytes]:
        with self._open(name) as file:
            file.seek(offset)
            while piece := file.read(PIECE):
                yield piece

    def _open(self, name: str) -> BinaryIO:
        path = Path(os.path.realpath(self._folder / name))
        if not path.is_relative_to(self._folder):
            raise ImageError(f"{self._name}: {name} points outside the folder")
        try:
            return file_given(str(path))
        except Unopened as error:
            raise ImageError(str(error)) from None


class TarBlobs:
    """Files in a tar archive, plain or compressed."""

    def __init__(self, path: str) -> None:
        self._name = path
        try:
            self._tar = tarfile.open(fileobj=_opened(path))  # noqa: SIM115 (read from until the process ends)
            members: dict[str, tarfile.TarInfo] = {}
            for member in self._tar:
                members[posixpath.normpath(member.name)] = member
                if len(members) > _MAX_MEMBERS:
                    raise ImageError(f"{path} contains over {_MAX_MEMBERS} files: too many for an image archive")
        except Unopened as error:
            raise ImageError(str(error)) from None
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            reason = isinstance(error, OSError) and error.strerror
            raise ImageError(f"cannot read {path}: {reason or 'it is not a tar archive, or is damaged'}") from None
        self._members = members

    def has(self, name: str) -> bool:
        return self._file(name) is not None

    def read(self, name: str, limit: int) -> bytes:
        with self._open(name) as file:
            return _whole(file, limit, f"{name} in {self._name}")

    def pieces(self, name: str, offset: int) -> Iterator[bytes]:
        with self._open(name) as file:
            try:
                file.seek(offset)
                while piece := file.read(PIECE):
                    yield piece
            except (tarfile.TarError, OSError, EOFError) as error:
                raise ImageError(f"{self._name} is damaged in {name}: {error}") from None

    def _file(self, name: str) -> tarfile.TarInfo | None:
        """The member, through links (`docker save` links a layer that it already wrote); None if it is not a file."""
        for _ in range(8):
            member = self._members.get(posixpath.normpath(name))
            if member is None or not (member.issym() or member.islnk()):
                return member if member is not None and member.isfile() else None
            start = posixpath.dirname(member.name) if member.issym() else ""
            name = posixpath.join(start, member.linkname)
        return None

    def _open(self, name: str) -> BinaryIO:
        member = self._file(name)
        file = self._tar.extractfile(member) if member else None
        if file is None:
            raise ImageError(f"{name} is missing from {self._name}")
        return file  # type: ignore[return-value]


class _Bounded:
    """A file in which no header can ask for an unreasonable amount: tarfile reads a header of any size at once.

    `most`: the bytes that may be read or skipped; `why`: the message if there are more.
    """

    def __init__(self, file: BinaryIO, most: int, why: str) -> None:
        self._file, self._most, self._why = file, most, why

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise tarfile.ReadError("one of its headers is too large")
        if self._file.seek(0, os.SEEK_CUR) > self._most:
            raise ImageError(self._why)
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset > self._most:
            raise ImageError(self._why)
        return self._file.seek(offset, whence)


def _opened(path: str) -> IO[bytes]:
    """The tar, decompressed."""
    file = file_given(path)
    start = file.read(6)
    file.seek(0)
    whole: object = file
    if start[:2] == b"\x1f\x8b":
        import gzip

        whole = gzip.GzipFile(fileobj=file)
    elif start[:3] == b"BZh":
        import bz2

        whole = bz2.BZ2File(file)
    elif start == b"\xfd7zXZ\0":
        import lzma

        whole = lzma.LZMAFile(file)  # noqa: SIM115
    size = os.fstat(file.fileno()).st_size
    most = size if whole is file else max(_FREE, MAX_TIMES * size)
    why = f"{path} expands to over {MAX_TIMES} times its size, so reading stopped"
    return cast("IO[bytes]", _Bounded(cast("BinaryIO", whole), most, why))


def _whole(file: BinaryIO, limit: int, what: str) -> bytes:
    try:
        data = file.read(limit + 1)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ImageError(f"cannot read {what}: {error}") from None
    if len(data) > limit:
        raise ImageError(f"{what} is over {limit >> 20} MiB")
    return data
