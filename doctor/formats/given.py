"""The one place that opens a path that a user names: regular files and streams, bounded; nothing that hangs.

A stream is standard input (`-`) or what a shell opened for us, as its `<(command)` does. A named FIFO, socket or device
is refused before it is opened: opening may wait forever, and may do something to a device.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import BinaryIO

_FOLDERS = ("/dev/fd/", "/proc/self/fd/")
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Unopened(Exception):
    """A path that cannot be read: one line that names it."""


def is_stream(path: str) -> bool:
    """Whether the path names what somebody opened for us."""
    return path in ("-", "/dev/stdin") or any(
        path.startswith(folder) and path[len(folder) :].isdigit() for folder in _FOLDERS
    )


def shown(path: str) -> str:
    """What messages call it."""
    return "standard input" if path == "-" else path


def near_names(path: str) -> str:
    """`; did you mean a, b?`: files of a like name in the folder of a missing one; else an empty string."""
    from difflib import get_close_matches
    from itertools import islice

    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in islice(entries, 2000) if entry.name != name]  # a link to nothing has it
    except (OSError, ValueError):
        return ""
    close = get_close_matches(name, names, n=2, cutoff=0.75)
    return f"; did you mean {', '.join(os.path.join(folder, one) for one in close)}?" if close else ""


def open_given(path: str, streams: bool = True) -> int:
    """A descriptor of the regular file, or of the stream. Raises Unopened.

    `streams`: whether a pipe will do; without, even what a shell opened has to be a regular file (for reading out of
    order).
    """
    try:
        stream = is_stream(path)
        if not stream:
            _refuse(path, os.stat(path).st_mode, "pipe its content in, with '-' for its name" if streams else "")
        descriptor = _stream(path) if stream else os.open(path, _flags())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        near = near_names(path) if isinstance(error, FileNotFoundError) else ""
        raise Unopened(f"cannot read {shown(path)}: {reason or error}{near}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not (stream and streams) or stat.S_ISDIR(mode):
            _refuse(shown(path), mode, "save it to a file first" if stream else "")
        elif not stat.S_ISREG(mode) and not os.get_blocking(descriptor):
            os.set_blocking(descriptor, True)
    except Unopened:
        os.close(descriptor)
        raise
    return descriptor


def file_given(path: str) -> BinaryIO:
    """The regular file at `path`, opened for reading. Raises Unopened."""
    return os.fdopen(open_given(path, streams=False), "rb")


def read_given(path: str, limit: int, too_large: str) -> bytes:
    """All bytes of the file or stream. Raises Unopened; `too_large`: what it says of more than `limit` bytes."""
    descriptor = open_given(path)
    try:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise Unopened(f"{shown(path)} {too_large} ({size >> 20} MiB)")
        parts = []  # type: list[bytes]
        left = limit + 1
        while left > 0:
            part = os.read(descriptor, min(left, 1 << 20))
            if not part:
                return b"".join(parts)
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise Unopened(f"cannot read {shown(path)}: {error.strerror or error}") from None
    finally:
        os.close(descriptor)
    raise Unopened(f"{shown(path)} {too_large}")


def refuse_special(path: str) -> None:
    """For what is not read but run or searched. Raises Unopened for a FIFO, socket or device of this name."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISDIR(mode):
        _refuse(path, mode, "")


def _flags() -> int:
    """O_NONBLOCK: what became a FIFO since it was looked at must not hang."""
    names = ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY")
    return os.O_RDONLY | sum(getattr(os, name, 0) for name in names)


def _stream(path: str) -> int:
    """A descriptor of its own. Raises OSError, ValueError."""
    if path != "-":
        return os.dup(0 if path == "/dev/stdin" else int(path.rpartition("/")[2]))
    if sys.stdin is None:
        raise ValueError("it is closed")
    return os.dup(sys.stdin.fileno())


def _refuse(name: str, mode: int, hint: str) -> None:
    if stat.S_ISDIR(mode):
        raise Unopened(f"{name} is a directory, not a file")
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise Unopened(f"{name} is {kind}, not a regular file" + (f" ({hint})" if hint else ""))
