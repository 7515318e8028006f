"""Threads with a known cause whose text is similar to this one: the nearest of the cases that the ranker has."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from pkgutil import get_data
from typing import NamedTuple

from ..snapshot import Similar
from .ranker import Model, model

FILE = "solved.bin"
NEAR = 0.42
"""Cosine from which on a case is told of."""
STEP = 100
"""A length of 1 in whole numbers."""
_MOST = 3


class Index(NamedTuple):
    """The file, ready to be asked."""

    rows: bytes
    """Packed: lists of titles, causes, what fixed it, and URLs, one each for a case, as JSON: like beside like packs
    better."""
    lengths: array[int]
    """Of each case the length of its terms' weights (Euclidean), in units of 1 / STEP."""
    starts: tuple[int, ...]
    """Of each column of the ranker the place of its first case in `gaps`."""
    counts: array[int]
    """Of each column how many cases hold it."""
    gaps: array[int]
    """In each column how far each case stands behind the one before it (the first: behind case 0)."""

    def cosines(self, model: Model, vector: dict[int, float]) -> list[float]:
        """Of each case with the text whose columns and values these are, over the terms that are kept of it."""
        found = [0.0] * len(self.lengths)
        for column, value in vector.items():
            worth = value * model.idf(column) * STEP
            for case in accumulate(self.gaps[(at := self.starts[column]) : at + self.counts[column]]):
                found[case] += worth
        return [dot / length for dot, length in zip(found, self.lengths, strict=True)]


def parse(data: bytes) -> Index:
    """The index of a file's bytes: a head as a line of JSON, then packed the cases' words, and their terms.

    The gaps of the column that most cases hold come first: like beside like packs better.
    """
    head, _, rest = data.partition(b"\n")
    about = json.loads(head)
    packed = zlib.decompress(rest[about["rows"] :])
    lengths = 2 * about["cases"]
    at = lengths + 2 * about["columns"]
    of_cases, counts = (array("H", part) for part in (packed[:lengths], packed[lengths:at]))
    gaps = array("H", _whole(packed[at:]))
    if sys.byteorder == "big":
        for numbers in (of_cases, counts):
            numbers.byteswap()
    starts, at = [0] * about["columns"], 0
    for column in sorted(range(about["columns"]), key=counts.__getitem__, reverse=True):
        starts[column] = at
        at += counts[column]
    return Index(rest[: about["rows"]], of_cases, tuple(starts), counts, gaps)


def _whole(parts: bytes) -> Iterator[int]:
    """The numbers of these bytes: 255 and what follows are one."""
    number = 0
    for part in parts:
        number += part
        if part < 255:
            yield number
            number = 0


@lru_cache(maxsize=1)
def _index() -> Index:
    return parse(get_data(__package__, FILE) or b"")


def nearest(vector: dict[int, float]) -> tuple[Similar, ...]:
    """Up to three solved cases that are near enough, the nearest first. `vector`: of the ranker's model."""
    index = _index()
    cosines = index.cosines(model(), vector)
    near = [number for number, cosine in enumerate(cosines) if cosine >= NEAR]
    if not near:
        return ()
    rows = [*zip(*json.loads(zlib.decompress(index.rows)), strict=True)]
    return tuple(
        Similar(title=title, cause=cause, fix=fix, url=url, score=round(cosines[number], 2))
        for number in sorted(near, key=lambda number: (-cosines[number], number))[:_MOST]
        for title, cause, fix, url in [rows[number]]
    )
