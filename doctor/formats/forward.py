"""Bytes that come once and in order, read as a file is: near the last ones and forward, or put aside for later.

Of a library inside an archive nothing can be read twice, and its section table stands at its end. So what the readers
of ELF files ask for afterwards is put aside as it comes by.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Callable, List, Tuple

BEHIND = 1024
"""So many bytes before the current ones are still there."""
_MAX_PIECES = 20_000
_MAX_KEPT = 4 << 20
"""Bytes of all pieces, and of all areas: a library has a few kilobytes of the first, and up to one mebibyte of the
second."""


class Forward:
    """A window over ``size`` bytes: ``more()`` gives the next ones (b"" at the end), ``skip(n)`` passes them.

    Raises what these two raise.
    """

    __slots__ = ("_more", "_skip", "base", "data", "size")

    def __init__(self, more: Callable[[], bytes], skip: Callable[[int], None], size: int) -> None:
        self._more, self._skip, self.size = more, skip, size
        self.base, self.data = 0, b""

    @property
    def end(self) -> int:
        """Where the bytes end that are here now."""
        return self.base + len(self.data)

    def grow(self, wanted_from: int) -> bool:
        """Take the next bytes in; those before ``wanted_from`` (less BEHIND) may go. False at the end."""
        piece = self._more()
        if piece:
            start = min(max(wanted_from - BEHIND, self.base), self.end)
            self.data = self.data[start - self.base :] + piece
            self.base = start
        return bool(piece)

    def pread(self, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes at ``offset``; b"" where they have gone by, fewer at the end."""
        size = min(size, self.size - offset)
        if offset > self.end and size > 0:
            self._skip(offset - self.end)
            self.base, self.data = offset, b""
        while self.end < offset + size and self.grow(offset):
            pass
        at = offset - self.base
        return self.data[at : at + size] if at >= 0 and size > 0 else b""


class Kept:
    """Pieces of a file that were put aside, by where they lie in it."""

    def __init__(self) -> None:
        self._areas: List[Tuple[int, bytearray]] = []
        self._starts: List[int] = []
        self._pieces: List[bytes] = []
        self._area_bytes = self._piece_bytes = 0

    def area(self, offset: int, data: bytes) -> None:
        """Keep bytes that go on where the last ones of an area ended, or begin one; past 4 MiB no more are kept."""
        self._area_bytes += len(data)
        if self._area_bytes > _MAX_KEPT:
            return
        for start, kept in reversed(self._areas):
            if start + len(kept) == offset:
                kept += data
                return
        self._areas.append((offset, bytearray(data)))

    def piece(self, offset: int, data: bytes) -> None:
        """Keep a short piece; they come in the order of their offsets, and past 20,000 or 4 MiB no more are kept."""
        self._piece_bytes += len(data)
        if (
            self._piece_bytes <= _MAX_KEPT
            and len(self._starts) < _MAX_PIECES
            and (not self._starts or offset > self._starts[-1])
        ):
            self._starts.append(offset)
            self._pieces.append(data)

    def pread(self, offset: int, size: int) -> bytes:
        """What is kept from ``offset`` on, up to ``size`` bytes."""
        for start, kept in self._areas:
            if start <= offset < start + len(kept):
                return bytes(kept[offset - start : offset - start + size])
        at = bisect_right(self._starts, offset) - 1
        return self._pieces[at][offset - self._starts[at] :][:size] if at >= 0 else b""
