"""Which parts of a large text are read: its beginning, its end, and the lines in between that could matter.

Masking and reading cost the same for every line, so of a text above a budget the middle is searched first, which is
cheap. Left out are lines that differ from earlier ones in their numbers alone, and lines without any word of a fault or
of our subject. `Unread` counts them, and those that could have mattered but were too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..formats.lazy import lazy
from ..snapshot import Unread
from .encoding import utf8_of
from .excerpt_middle import BUDGET, EDGE, KNOWN, LAP, MOST_PIECES, PIECE, ROW, Middle

_SEARCHED = 16_000_000
"""Bytes that are searched; of a larger text the first and the last half of so many."""
_WORD_ENDS = lazy(r"[\s\"',;&|<>{}()\[\]\\]")


def pieces(row: str) -> Iterator[str]:
    """Of a line too long to be read: what stands around known words behind its begin; each begins with a word."""
    done = count = 0
    for found in re.compile(KNOWN.pattern.decode(), re.I).finditer(row, PIECE):
        if found.start() < done:
            continue
        if (count := count + 1) > MOST_PIECES:
            return
        begin = _WORD_ENDS.search(row, max(found.start() - LAP, done, PIECE), found.start())
        start = begin.end() if begin else found.start()
        done = start + PIECE
        yield row[start:done]


class Excerpt(NamedTuple):
    """Text to be masked and read. `numbers`: of each row its line in the input; empty where all of it is there."""

    text: str
    numbers: tuple[int, ...] = ()
    inner: frozenset[int] = frozenset()
    """Rows that begin inside a line."""
    repeated: frozenset[int] = frozenset()
    """Lines of the input from which others, that are not read, differ in their numbers alone."""
    unread: Unread | None = None

    def masked(self, text: str) -> Excerpt:
        """The same after masking: a row that begins inside a line loses the part that was there for masking alone."""
        if self.inner:
            rows = text.split("\n")
            for index in self.inner:
                ends = _WORD_ENDS.search(rows[index], LAP) if index < len(rows) else None
                rows[index] = rows[index][ends.end() :] if ends else ""
            text = "\n".join(rows)
        return self._replace(text=text, inner=frozenset())


def excerpt(text: bytes | str) -> Excerpt:
    """The part of a text that is read: all of one within the budget, nothing of bytes that are no text."""
    data = utf8_of(text) if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if len(data) + ROW * (data.count(b"\n") + data.count(b"\r")) <= BUDGET:
        return Excerpt(data.decode("utf-8", "replace") if isinstance(text, bytes) else text)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    total = data.count(b"\n") + 1
    head, tail = _edge(data[: int(BUDGET * EDGE)], first=True), _edge(data[-int(BUDGET * EDGE) :], first=False)
    start, end = sum(map(len, head)) + len(head), len(data) - sum(map(len, tail)) - len(tail)
    middle = Middle(len(head))
    half = _SEARCHED // 2
    if end - start > _SEARCHED:
        first, last = data.rfind(b"\n", 0, start + half) + 1, data.find(b"\n", end - half) + 1
        first, last = first if first > start else start + half, last if 0 < last < end else end - half
        middle.search(data, start, first)
        middle.skip(data.count(b"\n", first, last))
        middle.search(data, last, end)
    else:
        middle.search(data, start, end)
    chosen = [
        *(row for number, line in enumerate(head, 1) for row in middle.rows_of(number, line)),
        *middle.chosen(),
        *(row for number, line in enumerate(tail, total - len(tail) + 1) for row in middle.rows_of(number, line)),
    ]
    read = len({row.number for row in chosen})
    return Excerpt(
        b"\n".join([row.text for row in chosen]).decode("utf-8", "replace"),
        tuple(row.number for row in chosen),
        frozenset(index for index, row in enumerate(chosen) if row.inner),
        middle.repeated(chosen),
        middle.unread(total, read),
    )


def _edge(data: bytes, first: bool) -> list[bytes]:
    """The whole lines of the begin (or the end) of a text, within the budget for it; none where it is one line."""
    rows = data.split(b"\n")
    rows = rows[:-1] if first else rows[:0:-1]
    room, count = BUDGET * EDGE, 0
    while count < len(rows) and room > 0:
        room -= len(rows[count]) + ROW
        count += 1
    return rows[:count] if first else rows[:count][::-1]
