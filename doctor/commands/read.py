"""The one place that reads a file that a user names: plain files and standard input, bounded; nothing that hangs."""

from __future__ import annotations

import os
import stat
import sys

from ..guard import Refusal

_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Names of streams that somebody has opened for us, as a shell's `<(command)` does: they are read to their end."""


def read_bounded(path: str, limit: int, too_large: str) -> bytes:
    """The bytes of a plain file or (`-`) of standard input. Raises Refusal with one line.

    `too_large`: what is said of more than `limit` bytes.
    """
    name = "standard input" if path == "-" else path
    try:
        if path == "-":
            if sys.stdin is None:
                raise Refusal("cannot read standard input: it is closed")
            return _read(sys.stdin.fileno(), name, limit, too_large, True)
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)  # no wait for a writer
        descriptor = os.open(path, flags)
        try:
            return _read(descriptor, name, limit, too_large, path.startswith(_STREAMS))
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Refusal(f"cannot read {name}: {reason or error}") from None


def _read(descriptor: int, name: str, limit: int, too_large: str, stream: bool) -> bytes:
    about = os.fstat(descriptor)
    if stat.S_ISDIR(about.st_mode):
        raise Refusal(f"{name} is a directory (a recorded folder is judged by check --replay)")
    if not stat.S_ISREG(about.st_mode):
        if not stream:
            raise Refusal(f"{name} is no plain file (pipe it in, and give '-' for its name)")
        if not os.get_blocking(descriptor):
            os.set_blocking(descriptor, True)
    if about.st_size > limit:
        raise Refusal(f"{name} {too_large} ({about.st_size >> 20} MiB)")
    parts: list[bytes] = []
    left = limit + 1
    while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise Refusal(f"{name} {too_large}")
    return b"".join(parts)
