"""A stdout that writes everything it is given: unbuffered (PYTHONUNBUFFERED) or non-blocking ones may write a part."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _Patient(io.RawIOBase):
    """Descriptor 1; waits if it does not block."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def isatty(self) -> bool:
        return os.isatty(1)

    def write(self, data: Buffer, /) -> int:
        while True:
            try:
                return os.write(1, data)
            except BlockingIOError:
                select.select([], [1], [])


def patient_stdout() -> TextIO:
    """In place of `sys.stdout`, with its encoding."""
    old = sys.stdout
    buffer = io.BufferedWriter(_Patient())
    return io.TextIOWrapper(buffer, encoding=old.encoding, errors=old.errors, line_buffering=old.isatty())
