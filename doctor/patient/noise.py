"""Part of the agents: where their lines go, and where whatever a library prints goes."""

from __future__ import annotations

import os
import sys
from io import FileIO, TextIOWrapper


def real_output() -> int:
    """The real stdout's descriptor; stdout itself then goes to stderr, so that a library's noise spoils nothing."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    unbuffered()
    return descriptor


def unbuffered() -> None:
    """Let what Python and C code print in this process arrive at once.

    An agent ends without its exit handlers, hangs or crashes: text in a buffer would be lost, and it is often the only
    clue. Python's own stderr is buffered too: up to 3.8 all of it, later a line without an end.
    """
    for name, number in (("stdout", 1), ("stderr", 2)):
        try:
            getattr(sys, name).flush()
        except (AttributeError, OSError, ValueError):  # None, or closed
            pass
        raw = FileIO(number, "w", closefd=False)
        stream = TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)
        setattr(sys, name, stream)
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        stdout = ctypes.c_void_p.in_dll(libc, "__stdoutp" if sys.platform == "darwin" else "stdout")
        libc.setvbuf(stdout, None, 2, 0)  # _IONBF of glibc, musl and macOS
    except Exception:  # a Python without ctypes, or a C library without such names: Python's text still arrives
        pass
