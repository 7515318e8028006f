"""A file that is read slowly, without any file system for it: a FIFO with little in it at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

SLOW_DISK = 1024
"""Bytes at a time of a network disk that is slow: some 50 kB/s, less where others use the cores too."""


@contextmanager
def read_slowly(fifo: Path, seconds: float, size: int = SLOW_DISK) -> Iterator[str]:
    """A file of which every reader gets so many bytes each 20 ms, for so long from the first reader on; then its end."""
    os.mkfifo(fifo)
    over = threading.Event()

    def feed() -> None:
        end = None
        while not over.is_set():
            with open(fifo, "wb", 0) as pipe:
                end = end or monotonic() + seconds
                while monotonic() < end and not over.is_set():
                    try:
                        pipe.write(b"x" * size)
                    except OSError:
                        break
                    sleep(0.02)
            sleep(0.05)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield str(fifo)
    finally:
        over.set()
        os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))
        thread.join(5)
