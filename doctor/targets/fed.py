"""A child that is fed and answers once: bounded in bytes and time, and killed with its group."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from time import monotonic
from typing import IO, Any

TAIL = 8192
"""Bytes of stderr that are kept, the last ones."""


class Fed:
    """code: None if it did not end by itself; out: at most the limit and one read more; `late`: the time was over;
    `too_much`: it wrote over the limit, and was ended then."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.out, self.err = bytearray(), bytearray()
        self.late = self.too_much = False


def run_fed(command: list[str], data: bytes, limit_s: float, most: int) -> Fed:
    """Run it to its end. Raises OSError if it cannot be started."""
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert child.stdin and child.stdout and child.stderr
    fed, until = Fed(), monotonic() + limit_s
    try:
        _read(fed, (child.stdin, child.stdout, child.stderr), data, until, most)
        if not fed.late and not fed.too_much:
            fed.code = child.wait(max(0.1, until - monotonic()))
    except subprocess.TimeoutExpired:
        fed.late = True
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)  # with what it left behind, though it ended itself
        except OSError:
            child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            try:
                stream.close()
            except OSError:  # what it did not take any more
                continue
    return fed


def _read(fed: Fed, streams: tuple[IO[bytes], ...], data: bytes, until: float, most: int) -> None:
    feed, out, err = streams
    with selectors.DefaultSelector() as selector:
        os.set_blocking(feed.fileno(), False)
        selector.register(feed, selectors.EVENT_WRITE)
        selector.register(out, selectors.EVENT_READ, fed.out)
        selector.register(err, selectors.EVENT_READ, fed.err)
        reading = 2
        while reading:
            left = until - monotonic()
            fed.late, fed.too_much = left <= 0, len(fed.out) > most
            if fed.late or fed.too_much:
                return
            for key, _ in selector.select(min(left, 1.0)):
                if key.fileobj is feed:
                    data = _written(feed, data)
                    if not data:
                        selector.unregister(feed)
                        feed.close()
                    continue
                if chunk := os.read(key.fd, 1 << 16):
                    key.data.extend(chunk)
                    del fed.err[:-TAIL]
                else:
                    selector.unregister(key.fileobj)
                    reading -= 1


def _written(stream: Any, data: bytes) -> bytes:
    """What is left after a write; nothing if the reader is gone."""
    try:
        return data[os.write(stream.fileno(), data[: 1 << 16]) :]
    except BlockingIOError:
        return data
    except OSError:
        return b""
