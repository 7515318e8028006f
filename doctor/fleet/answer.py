"""The wire format, read: answers put together from lines that came with anything else (patient/answer_lines.py)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib

from ..patient.answer_lines import CHUNK, MARK, MOST_BYTES, lines

__all__ = ["MARK", "MOST_BYTES", "Reader", "lines"]

_LEAST_CHUNK = 500
_MOST_PARTS = 2 * MOST_BYTES // _LEAST_CHUNK
_MOST_OPEN = 128 << 20
"""Bytes of parts whose answers are not complete yet, all together."""
_LINE = re.compile(
    rb"@gpudoctor1 ([A-Za-z0-9-]{1,32}) ([0-9a-f]{64}) (\d{1,6})/(\d{1,6}) (\d{1,9}) (\d{1,4}) ([0-9a-f]{8}) "
    rb"([A-Za-z0-9+/=]{0,%d});" % CHUNK
)


class Reader:
    """Puts answers together from lines in any order, from any number of senders."""

    def __init__(self, run: str = "") -> None:
        """`run`: only its answers count; empty: those of any."""
        self._run = run.encode()
        self._open: dict[tuple[bytes, bytes], dict[int, bytes]] = {}
        self._about: dict[tuple[bytes, bytes], tuple[int, int]] = {}
        self._done: set[tuple[bytes, bytes]] = set()
        self._held = 0
        self._lost: list[str] = []
        self._damaged = 0

    def feed(self, line: bytes) -> list[bytes]:
        """The answers that this line completes; none of a line without a mark."""
        if MARK not in line:
            return []
        found = [one for one in _LINE.finditer(line) if self._whole_line(one)]
        self._damaged += line.count(MARK) - len(found)
        return [answer for one in found if (answer := self._take(one)) is not None]

    def rest(self) -> list[str]:
        """What is said of each answer that is not whole."""
        missing = []
        for key, parts in self._open.items():
            count = self._about[key][0]
            missing.append(f"an answer is truncated: only {len(parts)} of its {count} parts arrived intact")
        if self._damaged:
            lines = "1 line" if self._damaged == 1 else f"{self._damaged:,} lines"
            missing.append(f"{lines} of answers arrived truncated or mixed with other output")
        return self._lost + missing

    def _whole_line(self, found: re.Match[bytes]) -> bool:
        _, _, part, parts, size, length, crc, chunk = found.groups()
        sums = len(chunk) == int(length) and zlib.crc32(chunk) == int(crc, 16)
        return sums and 1 <= int(part) <= int(parts) <= _MOST_PARTS and int(size) <= MOST_BYTES

    def _take(self, found: re.Match[bytes]) -> bytes | None:
        run, digest, part, parts, size, _, _, chunk = found.groups()
        key, number, count = (run, digest), int(part), int(parts)
        if (self._run and run != self._run) or key in self._done:
            return None
        if self._about.setdefault(key, (count, int(size))) != (count, int(size)):
            return None
        mine = self._open.setdefault(key, {})
        if number not in mine:
            mine[number] = chunk
            self._held += len(chunk)
        if len(mine) == count:
            self._close(key)
            return self._whole(mine, digest, int(size))
        while self._held > _MOST_OPEN:
            self._close(next(iter(self._open)))
            self._lost.append("an answer was dropped: too many others came before it was complete")
        return None

    def _close(self, key: tuple[bytes, bytes]) -> None:
        self._held -= sum(map(len, self._open.pop(key).values()))
        self._about.pop(key, None)
        self._done.add(key)

    def _whole(self, parts: dict[int, bytes], digest: bytes, size: int) -> bytes | None:
        try:
            packed = base64.b64decode(b"".join(parts[number] for number in sorted(parts)), validate=True)
            inflate = zlib.decompressobj()
            answer = inflate.decompress(packed, size + 1)
        except (binascii.Error, zlib.error):
            answer = b""
        if len(answer) != size or hashlib.sha256(answer).hexdigest().encode() != digest:
            self._lost.append("an answer is damaged: its SHA-256 does not match")
            return None
        return answer
