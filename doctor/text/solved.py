"""Threads whose cause was found and whose text is like this one: the nearest of the cases that the ranker knows."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from functools import lru_cache
from pkgutil import get_data

from ..formats.record import Record
from ..snapshot import Similar

FILE = "solved.bin"
NEAR = 0.46
"""Cosine from which on a case is told of."""
STEP = 400
"""A term's value 1 in whole numbers."""
_MOST = 3


class Index(Record):
    """The file, ready to be asked."""

    rows: bytes
    """Packed: a list of [title, cause, what fixed it, URL] as JSON."""
    size: int
    starts: tuple[int, ...]
    """Of each column of the ranker the place of its first case in `cases`; one more for the end."""
    cases: array[int]
    values: bytes

    def cosines(self, vector: dict[int, float]) -> list[float]:
        """Of each case with the text whose columns and values these are."""
        found = [0.0] * self.size
        for column, value in vector.items():
            for row in range(self.starts[column], self.starts[column + 1]):
                found[self.cases[row]] += value * self.values[row]
        return [cosine / STEP for cosine in found]


def parse(data: bytes) -> Index:
    """The index of a file's bytes: a head as a line of JSON, then packed the cases' words, and their terms."""
    head, _, rest = data.partition(b"\n")
    about = json.loads(head)
    packed = zlib.decompress(rest[about["rows"] :])
    columns, cells = about["columns"], about["places"]
    pairs, at = bytearray(2 * cells), 2 * columns
    pairs[0::2], pairs[1::2] = packed[at : at + cells], packed[at + cells : at + 2 * cells]  # low bytes, then high ones
    counts, cases = array("H", packed[:at]), array("H", bytes(pairs))
    if sys.byteorder == "big":
        counts.byteswap()
        cases.byteswap()
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    return Index(rest[: about["rows"]], about["cases"], tuple(starts), cases, packed[2 * (columns + cells) :])


@lru_cache(maxsize=1)
def _index() -> Index:
    return parse(get_data(__package__, FILE) or b"")


def nearest(vector: dict[int, float]) -> tuple[Similar, ...]:
    """Up to three solved cases that are near enough, the nearest first. `vector`: of the ranker's model."""
    index = _index()
    cosines = index.cosines(vector)
    near = [number for number, cosine in enumerate(cosines) if cosine >= NEAR]
    if not near:
        return ()
    rows = json.loads(zlib.decompress(index.rows))
    return tuple(
        Similar(title=title, cause=cause, fix=fix, url=url, score=round(cosines[number], 2))
        for number in sorted(near, key=lambda number: (-cosines[number], number))[:_MOST]
        for title, cause, fix, url in [rows[number]]
    )
