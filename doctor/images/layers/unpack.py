"""A compressed layer as its archive's bytes: gzip, zstd or plain, detected from its first bytes, in small pieces."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ...extra import extra_line
from ..blobs import MAX_TIMES
from ..source import ImageError
from .download import Download, words

PIECE = 1 << 18
_FREE = 1 << 30
"""The first gibibyte is always allowed: it takes a few seconds."""
_MAX_WINDOW_LOG = 27  # what the zstd command accepts by default
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"  # after 50 to 5f: a zstd frame without content, as inserted by zstd:chunked and eStargz


class Unpacked:
    """The archive's bytes in order (a `Source` of tar_stream). Raises ImageError."""

    def __init__(self, download: Download) -> None:
        self._download = download
        self._pieces = _pieces(download)
        self._data, self._at = b"", 0
        self.total = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end."""
        data = self._data[self._at : self._at + size]
        self._at += len(data)
        if len(data) == size:
            return data
        parts, left = [data], size - len(data)
        while left and (data := self.piece(left)):
            parts.append(data)
            left -= len(data)
        return b"".join(parts)

    def piece(self, most: int) -> bytes:
        """Some of the next bytes, b"" only at the end."""
        if self._at >= len(self._data) and not self._fill():
            return b""
        start, self._at = self._at, min(self._at + most, len(self._data))
        return self._data[start : self._at]

    def skip(self, size: int) -> int:
        """Skip bytes; returns how many there were."""
        left = size
        while left:
            here = min(len(self._data) - self._at, left)
            self._at += here
            left -= here
            if left and not self._fill():
                break
        return size - left

    def _fill(self) -> bool:
        for data in self._pieces:
            if not data:
                continue
            self._data, self._at = data, 0
            self.total += len(data)
            if self.total > _FREE and self.total > MAX_TIMES * self._download.count:
                raise ImageError(
                    f"{words(self._download.layer)} expands to over {MAX_TIMES} times its size, so reading stopped"
                )
            return True
        self._data, self._at = b"", 0
        return False


def _pieces(download: Download) -> Iterator[bytes]:
    raw = iter(download)
    head = b""
    while len(head) < 4 and (more := next(raw, b"")):
        head += more
    # Not a generator: dropping one would close what it reads from, and the digest still needs the rest.
    raw = chain([head] if head else [], raw)
    if download.layer.media_type.endswith("+encrypted"):
        raise ImageError(f"{words(download.layer)} is encrypted and cannot be read without its key")
    zstd = head.startswith(_ZSTD) or (head[1:4] == _SKIPPABLE and head[0] & 0xF0 == 0x50)
    download.packed = zstd or head.startswith(_GZIP)
    if head.startswith(_GZIP):
        return _gzip(raw, download)
    return _zstd(raw, download) if zstd else raw


def _gzip(raw: Iterator[bytes], download: Download) -> Iterator[bytes]:
    """One member after the other: pigz and eStargz write many."""
    decoder = zlib.decompressobj(wbits=31)
    inside = False
    for piece in raw:
        data = piece
        while True:
            if decoder.eof:
                data = data.lstrip(b"\0")  # padding is allowed after a member
                if not data:
                    break
                decoder = zlib.decompressobj(wbits=31)
            inside = True
            try:
                out = decoder.decompress(data, PIECE)
            except zlib.error as error:
                raise _damaged(download, "gzip", str(error)) from None
            yield out
            data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            if not data and len(out) < PIECE:
                break
    if inside and not decoder.eof:
        raise _damaged(download, "gzip", "it is truncated")


def _zstd(raw: Iterator[bytes], download: Download) -> Iterator[bytes]:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        yield from _zstandard(raw, download)
        return
    options = {zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG}
    decoder = zstd.ZstdDecompressor(options=options)
    for piece in raw:
        data = piece
        while data or not (decoder.needs_input or decoder.eof):
            if decoder.eof:
                decoder = zstd.ZstdDecompressor(options=options)
            try:
                out = decoder.decompress(data, PIECE)
            except zstd.ZstdError as error:
                raise _damaged(download, "zstd", str(error)) from None
            data = decoder.unused_data if decoder.eof else b""
            yield out
    if not decoder.eof:
        raise _damaged(download, "zstd", "it is truncated")


def _zstandard(raw: Iterator[bytes], download: Download) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise ImageError(
            f"{words(download.layer)} is compressed with zstd; to read it: {extra_line('image')}"
        ) from None
    decoder = zstandard.ZstdDecompressor(max_window_size=1 << _MAX_WINDOW_LOG)
    source: Any = _File(raw)
    reader = decoder.stream_reader(source, read_size=PIECE, read_across_frames=True)
    out = b""
    while True:
        before = out
        try:
            out = reader.read(PIECE)
        except zstandard.ZstdError as error:
            raise _damaged(download, "zstd", str(error)) from None
        if not out:
            if not before:
                raise _damaged(download, "zstd", "it is truncated")
            return
        yield out


class _File:
    """An iterator of pieces with the one method that zstandard needs."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def read(self, size: int = -1) -> bytes:
        data = self._rest or next(self._pieces, b"")
        if size < 0:
            return data + b"".join(self._pieces)
        self._rest = data[size:]
        return data[:size]


def _damaged(download: Download, kind: str, why: str) -> ImageError:
    return ImageError(
        f"{words(download.layer)} has damaged {kind} data: {why.splitlines()[0][:120] if why else 'no reason given'}"
    )
