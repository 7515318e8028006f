"""Write bytes to a file: completely, or leave it unchanged."""

from __future__ import annotations

import errno
import os
import re
import select
import stat
from collections.abc import Iterable

_STREAM = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d{1,4})")
_NUMBERS = {"stdout": 1, "stderr": 2}


def write_all(descriptor: int, parts: Iterable[bytes]) -> None:
    """A write may accept only part of the data: keep writing until all of it is out or refused. Raises OSError."""
    for part in parts:
        view = memoryview(part)
        while view:
            try:
                view = view[os.write(descriptor, view[: 1 << 20]) :]
            except BlockingIOError:
                select.select([], [descriptor], [])


def to_file(path: str, data: Iterable[bytes], private: bool) -> None:
    """A new or regular file is replaced as a whole; what must not or cannot be replaced is written in place.

    private: only its owner can read a new file. Raises OSError.
    """
    stream = _STREAM.fullmatch(path)
    if stream:  # opened already, perhaps to append: opening it again would start at its beginning
        write_all(_NUMBERS.get(stream[1]) or int(stream[2]), data)
        return
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        _replace(path, data, 0o600 if private else 0o666 & ~_umask())
        return
    if stat.S_ISLNK(about.st_mode):
        if about.st_uid not in (os.geteuid() if hasattr(os, "geteuid") else about.st_uid, 0):
            raise OSError(errno.ELOOP, "a symbolic link owned by another user")
        _overwrite(path, data, 0, 0o600 if private else 0o666)
    elif stat.S_ISREG(about.st_mode) and about.st_nlink == 1:
        try:
            _replace(path, data, stat.S_IMODE(about.st_mode))
        except OSError as error:
            # A folder that cannot be written, a file that is a mount point, another file system below it.
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV):
                raise
            _overwrite(path, data, getattr(os, "O_NOFOLLOW", 0))
    else:
        _overwrite(path, data, getattr(os, "O_NOFOLLOW", 0))


def _overwrite(path: str, data: Iterable[bytes], flags: int, mode: int = 0o666) -> None:
    """Write in place: to a device, a pipe with a reader, a file that cannot be replaced."""
    flags |= os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, mode)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "a pipe or socket without a reader") from None
        raise
    try:
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _replace(path: str, data: Iterable[bytes], mode: int) -> None:
    """All or nothing: a full disk must not leave half a report behind, and the temporary name must be unpredictable."""
    beside = f"{path}.{os.urandom(8).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(beside, flags, 0o600)
    try:
        try:
            write_all(descriptor, data)
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        os.replace(beside, path)  # noqa: PTH105
    except BaseException:
        os.unlink(beside)  # noqa: PTH108
        raise


def _umask() -> int:
    """It can only be read by setting it; nothing else creates files meanwhile."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
