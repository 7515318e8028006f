"""Files of a layout or archive by their names: out of a folder, or out of a tar that is never unpacked."""

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
"""What is compressed may unpack to so many times its size. Files of zeros reach it: gzip by 1000, zstd by 10,000."""
_FREE = 256 << 20
"""These bytes are not held against it: that is a second."""


class Blobs(Protocol):
    """Named files; a name has no leading slash and never leads out of the whole."""

    def has(self, name: str) -> bool: ...

    def read(self, name: str, limit: int) -> bytes:
        """The whole file. Raises ImageError where there is none, or over `limit` bytes."""

    def pieces(self, name: str, offset: int) -> Iterator[bytes]:
        """The file from `offset` on. Raises ImageError."""


class FolderBlobs:
    """Of a folder. What a link leads to outside it is not read."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._name = folder

    def has(self, name: str) -> bool:
        return self._folder.joinpath(name).is_file()

    def read(self, name: str, limit: int) -> bytes:
        with self._open(name) as file:
            return _whole(file, limit, f"{name} of {self._name}")

    def pieces(self, name: str, offset: int) -> Iterator[bytes]:
        with self._open(name) as file:
            file.seek(offset)
            while piece := file.read(PIECE):
                yield piece

    def _open(self, name: str) -> BinaryIO:
        path = Path(os.path.realpath(self._folder / name))
        if not path.is_relative_to(self._folder):
            raise ImageError(f"{self._name}: {name} leads out of the folder")
        try:
            return file_given(str(path))
        except Unopened as error:
            raise ImageError(str(error)) from None


class TarBlobs:
    """Of a tar archive, plain or compressed."""

    def __init__(self, path: str) -> None:
        self._name = path
        try:
            self._tar = tarfile.open(fileobj=_opened(path))  # noqa: SIM115 (read from until the process ends)
            members: dict[str, tarfile.TarInfo] = {}
            for member in self._tar:
                members[posixpath.normpath(member.name)] = member
                if len(members) > _MAX_MEMBERS:
                    raise ImageError(f"{path} holds over {_MAX_MEMBERS} files: no archive of an image")
        except Unopened as error:
            raise ImageError(str(error)) from None
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            reason = isinstance(error, OSError) and error.strerror
            raise ImageError(f"cannot read {path}: {reason or 'it is no tar archive, or a damaged one'}") from None
        self._members = members

    def has(self, name: str) -> bool:
        return self._file(name) is not None

    def read(self, name: str, limit: int) -> bytes:
        with self._open(name) as file:
            return _whole(file, limit, f"{name} of {self._name}")

    def pieces(self, name: str, offset: int) -> Iterator[bytes]:
        with self._open(name) as file:
            try:
                file.seek(offset)
                while piece := file.read(PIECE):
                    yield piece
            except (tarfile.TarError, OSError, EOFError) as error:
                raise ImageError(f"{self._name} is damaged in {name}: {error}") from None

    def _file(self, name: str) -> tarfile.TarInfo | None:
        """The member, through links (`docker save` links a layer that was there before); None where it is no file."""
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
            raise ImageError(f"{self._name} lacks {name}")
        return file  # type: ignore[return-value]


class _Bounded:
    """A file of which no header can ask for more than is sensible: tarfile reads one of any size at once.

    `most`: the bytes that may be read or passed over, with `why` where there are more.
    """

    def __init__(self, file: BinaryIO, most: int, why: str) -> None:
        self._file, self._most, self._why = file, most, why

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise tarfile.ReadError("a header of it is too large")
        if self._file.seek(0, os.SEEK_CUR) > self._most:
            raise ImageError(self._why)
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset > self._most:
            raise ImageError(self._why)
        return self._file.seek(offset, whence)


def _opened(path: str) -> IO[bytes]:
    """The tar, out of its compression."""
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
    why = f"{path} unpacks to over {MAX_TIMES} times its size: not read any further"
    return cast("IO[bytes]", _Bounded(cast("BinaryIO", whole), most, why))


def _whole(file: BinaryIO, limit: int, what: str) -> bytes:
    try:
        data = file.read(limit + 1)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ImageError(f"cannot read {what}: {error}") from None
    if len(data) > limit:
        raise ImageError(f"{what} has over {limit >> 20} MiB")
    return data
