"""Files of lines: a document a line, documents over many lines, and both behind the names that pdsh puts there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ..judge.saved import MAX_BYTES, READING, text_bytes
from .answer import MARK, Reader
from .kinds import MOST_QUOTED, Refused
from .names import is_name

TOO_LARGE = "is over 64 MiB: too large for a report"
_BOM = b"\xef\xbb\xbf"
_MOST_NOISE = 1000
"""Lines of one file that are not JSON and are named one by one."""
_MOST_LINES = 2_000_000
_MOST_HELD = 128 << 20
"""Bytes of documents over many lines that have not ended yet, all together."""
_MOST_TRIES = 1000
_PREFIX = re.compile(
    rb"(?:(?:pdsh@[^\s:{}]{1,253}|clush): )?"
    rb"(?:([A-Za-z0-9_][A-Za-z0-9._-]{0,252}):|\[([^\[\]{}\"\s]{1,253})\](?:<std(?:out|err)>)?:?)"
    rb"(?:[ \t]|(?=[{}\[\]\"])|$)"
)
"""`node7: ` of pdsh and clush, `0: ` of srun -l, `[node7] `, `[1,0]<stdout>:` of mpirun."""


class Piece(NamedTuple):
    """One candidate for an answer."""

    file: str
    line: int
    """0 if the file is one document."""
    hint: str
    """The file's name without its ending, or the name before the line; empty if neither says a node."""
    modified: float
    """When the file was written, by the clock of whoever reads it; 0 for a stream."""
    data: bytes
    namesakes: int = 0
    """Files of this name, where they stand in several folders; else 0."""


class _Open(NamedTuple):
    """A document over many lines that has not ended."""

    start: int
    name: str
    lines: list[bytes]
    size: list[int]
    """Bytes so far, and how often its end was tried."""


def prefixed(line: bytes) -> tuple[bytes, str, bytes] | None:
    """(what stands before it, the node that this names, the rest) of a line; None if nothing does. A task's or a
    rank's number names no node."""
    found = _PREFIX.match(line)
    if found is None:
        return None
    word = (found[1] or found[2]).decode("utf-8", "replace")
    return found[0].rstrip(), word if is_name(word) and not word.isdecimal() else "", line[found.end() :]


def is_lines(data: bytes) -> bool:
    """Whether a file is not one JSON document: it has one per line, several, or lines with a node's name in front."""
    if data[:1] != b"{" and MARK in data[: 1 << 18]:
        return True
    end = data.find(b"\n")
    if data[:1] == b"{" and (end < 0 or end > len(data) - 3):
        return False  # by far the most
    first = data[: end if end >= 0 else len(data)].strip()
    before = None if first[:1] == b"{" else prefixed(first)
    if before is not None and before[2][:1] == b"{":
        return True
    if end < 0 or end > len(data) - 3 or first[:1] != b"{":
        return False
    if first[-1:] == b"}":
        return data[end:].lstrip(b" \t\r\n" + _BOM)[:1] == b"{"
    return b"\n}\n{" in data or b"\n}\r\n{" in data


def whole(blocks: Iterator[bytes], first: bytes = b"") -> bytes | None:
    """All of it; None if it is over 64 MiB."""
    parts, size = [first] if first else [], len(first)
    for block in blocks:
        size += len(block)
        if size > MAX_BYTES:
            return None
        parts.append(block)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def lines_of(file: str, modified: float, blocks: Iterator[bytes]) -> Iterator[Piece | Refused]:
    """A piece a document; of lines of the wire format a piece for each answer, and then other lines are noise."""
    return _Lines(file, modified).read(blocks)


class _Lines:
    def __init__(self, file: str, modified: float) -> None:
        self._file, self._modified = file, modified
        self._reader: Reader | None = None
        self._noise: list[Refused] = []
        self._open: dict[bytes, _Open] = {}
        self._held = 0

    def read(self, blocks: Iterator[bytes]) -> Iterator[Piece | Refused]:
        number = 0
        for number, line in _split(_utf8(blocks)):
            if number > _MOST_LINES:
                yield Refused(
                    self._file, number, f"over {_MOST_LINES:,} lines: this line and all later ones are not read"
                )
                break
            if line is None:
                yield Refused(self._file, number, TOO_LARGE)
            elif MARK in line:
                self._reader = self._reader or Reader()
                yield from (self._piece(number, "", answer) for answer in self._reader.feed(line))
            else:
                yield from self._line(number, line.removeprefix(_BOM))
        for one in self._open.values():
            yield self._cut(one)
        if self._reader is not None:
            yield from (Refused(self._file, number, reason) for reason in self._reader.rest())
        else:
            yield from self._noise
        if not number:
            yield Refused(self._file, 0, "it is empty")

    def _piece(self, number: int, name: str, data: bytes) -> Piece:
        return Piece(self._file, number, name, self._modified, data)

    def _line(self, number: int, line: bytes) -> Iterator[Piece | Refused]:
        if line[:1] == b"{" and b"" not in self._open:
            key, name, rest = b"", "", line
        else:
            key, name, rest = prefixed(line) or (b"", "", line)
            if key not in self._open and b"" in self._open and rest[:1] != b"{":
                key, name, rest = b"", "", line
        text = rest.strip()
        if key in self._open:
            yield from self._more(number, key, rest, text)
        elif text == b"{":
            self._open[key] = _Open(number, name, [rest], [len(rest), 0])
            self._held += len(rest)
        elif text[:1] == b"{":
            yield self._piece(number, name, text)
        elif text and len(self._noise) < _MOST_NOISE:
            quote = text[:MOST_QUOTED].decode("utf-8", "replace")
            self._noise.append(Refused(self._file, number, "it is not valid JSON", name, quote))

    def _more(self, number: int, key: bytes, rest: bytes, text: bytes) -> Iterator[Piece | Refused]:
        """One more line of a document; a new one begins with a `{` that is not indented as the first one's lines are,
        or where the line before cannot go on with it."""
        one = self._open[key]
        last = next((line for other in reversed(one.lines) if (line := other.strip())), b"")
        indented = one.lines[1:] and one.lines[1][:1].isspace()
        if rest[:1] == b"{" and (indented or last[-1:] not in b"{[,:"):
            self._close(key)
            yield self._cut(one)
            yield from self._line(number, key + b" " + rest if key else rest)
            return
        one.lines.append(rest)
        one.size[0] += len(rest) + 1
        self._held += len(rest) + 1
        if one.size[0] > MAX_BYTES:
            self._close(key)
            yield Refused(self._file, one.start, TOO_LARGE, one.name)
        elif text == b"}" and one.size[1] < _MOST_TRIES:
            one.size[1] += 1
            data = b"\n".join(one.lines)
            if _is_whole(data):
                self._close(key)
                yield self._piece(one.start, one.name, data)
        while self._held > _MOST_HELD:
            first = next(iter(self._open))
            yield self._cut(self._open[first])
            self._close(first)

    def _close(self, key: bytes) -> None:
        self._held -= self._open.pop(key).size[0]

    def _cut(self, one: _Open) -> Refused:
        return Refused(self._file, one.start, "it is truncated: a report begins here but does not end", one.name)


def _is_whole(data: bytes) -> bool:
    """Whether a document ends here, or is none whatever follows."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except READING as error:
        return "truncated" not in str(error)
    return True


def _utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks as UTF-8: what PowerShell's `>` writes is UTF-16, which is read at once."""
    first = b""
    for block in blocks:
        first += block
        if len(first) > 1:
            break
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = whole(blocks, first)
        yield text_bytes(data) if data is not None else bytes(MAX_BYTES + 1)
        return
    yield first
    yield from blocks


def _split(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """(number, line) of each; None in place of a line that is too long."""
    buffer, number, skipping = bytearray(), 0, False
    for block in blocks:
        start = 0
        while (end := block.find(b"\n", start)) >= 0:
            number += 1
            buffer += block[start:end]
            start = end + 1
            line = None if skipping or len(buffer) > MAX_BYTES else bytes(buffer)
            skipping = False
            buffer.clear()
            yield number, line
        if not skipping:
            buffer += block[start:]
            if len(buffer) > MAX_BYTES:
                skipping = True
                buffer.clear()
    if skipping or buffer:
        yield number + 1, None if skipping else bytes(buffer)
