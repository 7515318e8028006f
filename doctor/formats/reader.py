"""Positioned reads of one file: a gigabyte library costs only the pages that hold its headers."""

from __future__ import annotations

import os
import stat
from typing import Callable

Pread = Callable[[int, int], bytes]
"""(offset, size) -> up to size bytes from there; fewer at the end of the file, never more."""

_MAX_OFFSET = 1 << 62


def _seek_and_read(fd: int, size: int, offset: int) -> bytes:
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)


_pread: Callable[[int, int, int], bytes] = getattr(os, "pread", _seek_and_read)  # Windows has none


class FileReader:
    """A regular file opened for positioned reads; a context manager.

    Raises OSError where the file cannot be opened or is a device, pipe or folder.
    """

    __slots__ = ("_fd", "size")

    def __init__(self, path: str) -> None:
        # O_NONBLOCK: opening a pipe that somebody named like a library must not hang.
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        self._fd = os.open(path, flags)
        try:
            status = os.fstat(self._fd)
            if not stat.S_ISREG(status.st_mode):
                raise OSError("not a regular file")
            self.size = status.st_size
            if hasattr(os, "posix_fadvise"):
                # No read-ahead: on a cold disk it would fetch thirty times what the headers need.
                os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_RANDOM)
        except OSError:
            os.close(self._fd)
            raise

    def pread(self, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes at ``offset``; empty outside of the file. Raises OSError."""
        if 0 <= offset <= _MAX_OFFSET and size > 0:
            return _pread(self._fd, size, offset)
        return b""

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def read_bounded(path: str, limit: int) -> bytes:
    """The first ``limit`` bytes of a regular file. Raises OSError."""
    with FileReader(path) as reader:
        return reader.pread(0, limit)
