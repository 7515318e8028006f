"""One `fix --apply` at a time per environment: its folder is locked, and a second run prints who holds the lock."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from ..guard import Refusal

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(folder: str) -> Iterator[None]:
    """Hold the lock on an environment's folder; it is released when this process ends, and leaves no file.

    On a file system without such locks, nothing is locked. Raises Refusal if another process holds the lock.
    """
    held = -1
    try:
        if fcntl is not None and folder:
            with contextlib.suppress(OSError):
                held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            if held >= 0:
                _lock(held, folder)
        yield
    finally:
        if held >= 0:
            os.close(held)


def _lock(held: int, folder: str) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise Refusal(f"{_holder(held)} is changing {folder}: wait for it to finish, then run this again") from None


def _holder(held: int) -> str:
    """Who holds the lock, from /proc/locks (proc(5)): the process and its command."""
    about = os.fstat(held)
    try:
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return "another process"
    ends = f":{about.st_ino}"
    pid = next((row[4] for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(ends)), "")
    try:
        with open(f"/proc/{int(pid)}/cmdline", encoding="utf-8", errors="replace") as file:
            words = file.read().replace("\0", " ").split()
    except (OSError, ValueError):
        return f"another process ({pid})" if pid else "another process"
    name = " ".join(os.path.basename(word) if "/" in word else word for word in words)  # noqa: PTH119
    return f"process {pid} ({name[:80]})"
