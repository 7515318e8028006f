"""What a publisher's server answers: a text, or a part of a large file. Raises OSError where none comes."""

from __future__ import annotations

import io
import socket
import time
import urllib.error
import urllib.request
from typing import Any

_TIMEOUT_S = 60
_TRIES = 3


def answer_to(request: str | urllib.request.Request) -> Any:
    """The open answer, through the proxies that the environment names now. Asked again where the name server answers
    that it is busy. Raises OSError."""
    for left in reversed(range(_TRIES)):
        try:
            return urllib.request.build_opener().open(request, timeout=_TIMEOUT_S)
        except urllib.error.URLError as error:
            if not left or getattr(error.reason, "errno", 0) != socket.EAI_AGAIN:
                raise
            time.sleep(1)
    raise AssertionError("the last try returns or raises")


def read(url: str, headers: dict[str, str] | None = None) -> bytes:
    """What is at this address. Asked again after a fault of the server or a silence: one among hundreds of questions
    loses nothing. Raises OSError with the address in its text."""
    request = urllib.request.Request(url, headers={"User-Agent": "gpudoctor-importers", **(headers or {})})
    for left in reversed(range(_TRIES)):
        try:
            with answer_to(request) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            if error.code < 500 or not left:
                raise
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            if not left or isinstance(reason, (ConnectionRefusedError, socket.gaierror)):
                raise OSError(f"{url}: {getattr(reason, 'strerror', None) or reason}") from error
    raise AssertionError("the last try returns or raises")


def text(url: str) -> str:
    """The text at this address. Raises OSError."""
    return read(url).decode("utf-8", "replace")


class Ranges(io.RawIOBase):
    """A file on a server that gives out parts of it."""

    def __init__(self, url: str) -> None:
        self.url, self.at = url, 0
        with answer_to(urllib.request.Request(url, method="HEAD")) as answer:
            self.size = int(answer.headers["Content-Length"])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), self.size - self.at)
        if count <= 0:
            return 0
        part = read(self.url, {"Range": f"bytes={self.at}-{self.at + count - 1}"})
        buffer[: len(part)] = part
        self.at += len(part)
        return len(part)
