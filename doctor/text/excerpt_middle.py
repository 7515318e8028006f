"""The lines of a large text between its beginning and end: those that could matter are kept, the others counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from ..formats.lazy import lazy
from ..snapshot import Unread
from .encoding import odd_signs

BUDGET = 600_000
"""Cost of what is read: characters, and `ROW` for each line."""
ROW = 40
EDGE = 0.2
"""Share of the budget for the begin and for the end each; half of the rest is for what stands first between them."""
_CHUNK = 1 << 18
PIECE, LAP = 2000, 500
"""Bytes of a line that are read, and that a later piece of it has in common with the one before: a secret's name."""
MOST_PIECES = 40
_MOST_ALIKE = 40
"""Lines that differ in numbers alone and are read nevertheless, where numbers matter."""
_MOST_SHAPES = 150_000
_BEFORE, _AFTER, _MOST_AFTER = 2, 6, 60
"""Lines around a chosen one; after it up to the most while they are indented, as those of a traceback are."""
KNOWN = lazy(
    rb"a(?:bort|ssert)|bug:|c(?:uda|udnn|an(?:not|'t)|ould(?: not|n't))|d(?:river|enied)|e(?:rr(?:or|no)|xcepti)|"
    rb"f(?:ail|atal)|gpu|i(?:nvalid|llegal|ncompatible|s_available)|killed|mis(?:match|sing)|"
    rb"n(?:vidia|vrm|vlink|ccl|ouveau|o(?:t (?:found|support)| such| module))|o(?:om|ops|ut of memory)|panic|"
    rb"r(?:efused|ocm)|s(?:egfault|ignal)|t(?:orch|raceback|ensorflow|riton|ime(?:d out|d?out)|oo old)|"
    rb"un(?:able|supported|defined)|version|w(?:arn|sl)|x(?:id|formers)"
)
"""Of lower case: words of a fault and of our subject. A line without one of them decides nothing by itself."""
_NUMBERS_MATTER = lazy(rb"version|capability|error|gpu|driver")
_XID = lazy(rb"xid[^:]{0,40}:[0-9a-f:.)]{0,24}:? ?(\d{1,3})")
_DIGITS = b"0123456789"


class Row(NamedTuple):
    """A line, or a part of a long one, and its line in the input."""

    number: int
    text: bytes
    inner: bool = False


class Middle:
    """The lines between begin and end, as they are met."""

    def __init__(self, before: int) -> None:
        self._number = before
        self._first: list[Row] = []
        self._last: deque[Row] = deque()
        self._room = self._last_room = BUDGET * (1 - 2 * EDGE) / 2
        self._seen: dict[int, int] = {}
        self._left_out: set[int] = set()
        """Shapes (lines without their numbers) of lines that are not read because one like them was."""
        self._alike = self._silent = self._no_text = self._left = self._cut = 0
        self._between: list[int] = []
        self._after = self._indented = 0
        """Lines still to be taken after a chosen one."""

    def skip(self, lines: int) -> None:
        """Lines that are not even searched."""
        self._lost(self._number + 1, max(lines, 1))
        self._number += lines
        self._between[1:] = [self._number]

    def search(self, data: bytes, at: int, end: int) -> None:
        """Lines of the input, in their order."""
        while at < end:
            stop = data.rfind(b"\n", at, min(at + _CHUNK, end)) + 1 or data.find(b"\n", at + _CHUNK, end) + 1 or end
            stop = end if at + _CHUNK >= end else stop
            self._chunk(data[at:stop].removesuffix(b"\n"))
            at = stop

    def _chunk(self, chunk: bytes) -> None:
        if not chunk.strip():
            self._number += chunk.count(b"\n") + 1
            return
        low = chunk.lower()
        rows, lows = chunk.split(b"\n"), low.split(b"\n")
        odd = odd_signs(chunk) > len(chunk) // 100
        known, seen = len(rows) == 1 or KNOWN.search(low) is not None, self._seen
        shapes = low.translate(None, _DIGITS).split(b"\n")
        if not (known or odd or self._after) and seen.keys() >= set(map(hash, shapes)):
            self._number += len(rows)
            self._alike += len(rows) - shapes.count(b"")
            self._left_out.update(map(hash, shapes))
            return
        taken = 0
        for index, shape in enumerate(shapes):
            row = rows[index]
            if index and row == rows[index - 1] and not self._after:
                self._alike += bool(shape)
                continue
            if odd and odd_signs(row) > 2 + len(row) // 20:
                self._no_text += 1
                continue
            times = seen.get(key := hash(shape), 0)
            new = not times or (known and self._matters(lows[index], shape, times))
            if new:
                if times or len(seen) < _MOST_SHAPES:
                    seen[key] = times + 1
                if not self._number + index or (known and KNOWN.search(shape)):
                    for before in range(max(index - _BEFORE, taken), index):
                        self._take(before, rows)
                    self._take(index, rows)
                    taken, self._after, self._indented = index + 1, _AFTER, _MOST_AFTER
                    continue
            if self._after and shape:
                self._take(index, rows)
                taken = index + 1
                self._indented -= 1
                self._after -= self._indented <= 0 or shape[:1] not in (b" ", b"\t")
            elif new:
                self._silent += 1
            else:
                self._alike += bool(shape)
                self._left_out.add(key)
        self._number += len(rows)

    def _matters(self, low: bytes, shape: bytes, times: int) -> bool:
        """Whether a line counts although one differs from it in numbers alone: a few times, and every new Xid."""
        if b"xid" in shape and (found := _XID.search(low)):
            key, new = hash((b"xid", found[1])), hash((b"xid", found[1])) not in self._seen
            self._seen[key] = 1
            return new
        return times < _MOST_ALIKE and _NUMBERS_MATTER.search(shape) is not None

    def _take(self, index: int, rows: list[bytes]) -> None:
        for row in self.rows_of(self._number + index + 1, rows[index]):
            cost = len(row.text) + ROW
            if self._room >= cost and not self._last:
                self._room -= cost
                self._first.append(row)
                continue
            self._last.append(row)
            self._last_room -= cost
            while self._last_room < 0 and len(self._last) > 1:
                gone = self._last.popleft()
                self._last_room += len(gone.text) + ROW
                self._lost(gone.number, 1)

    def _lost(self, number: int, count: int) -> None:
        self._left += count
        self._between[1 if self._between else 0 :] = [number]

    def rows_of(self, number: int, line: bytes) -> Iterator[Row]:
        """A line; of a long one its begin, and pieces with known words."""
        if len(line) <= 2 * PIECE:
            yield Row(number, line)
            return
        yield Row(number, line[: 2 * PIECE])
        self._cut += 1
        done, count = 2 * PIECE - LAP, 0
        for found in KNOWN.finditer(line.lower(), done):
            if found.start() < done:
                continue
            if count == MOST_PIECES:
                self._lost(number, 1)
                return
            start = max(found.start() - LAP - 200, done - LAP)
            done, count = start + PIECE, count + 1
            yield Row(number, line[start:done], inner=True)

    def chosen(self) -> list[Row]:
        """The rows that are read, in their order."""
        return [*self._first, *self._last]

    def repeated(self, rows: list[Row]) -> frozenset[int]:
        """Numbers of those rows that stand for others, which are not read."""
        left_out = self._left_out
        return frozenset(r.number for r in rows if hash(r.text.lower().translate(None, _DIGITS)) in left_out)

    def unread(self, lines: int, read: int) -> Unread:
        """What is not among them."""
        between = (self._between[0], self._between[-1]) if self._between else (0, 0)
        return Unread(lines, read, self._alike, self._silent, self._no_text, self._left, between, self._cut)
