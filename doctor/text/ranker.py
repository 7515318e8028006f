"""Which causes the words of a text make likely: a linear model over words and word parts, trained on solved cases.

`training/ranker.py` writes the file that is read here, and makes its terms with this file's functions.
"""

from __future__ import annotations

import itertools
import json
import zlib
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp, log, sqrt
from pkgutil import get_data
from typing import Any, NamedTuple

from ..formats.lazy import lazy
from ..snapshot import Ranked
from .statement import Line
from .unknown_errors import reports_error

FILE = "ranker.bin"
FORMAT = 2
NOTHING = "healthy"
"""The class of texts in which nothing points at the environment."""
_MOST_CHARACTERS = 100_000
_MOST_WORDS = 200
"""Words of a line: more stand in dumps of arrays alone."""
_LONGEST_WORD = 30
_QUOTED = 300
_SHORT = 60
"""Lines of a text that is read whole: somebody chose each of them."""
_BEFORE, _AFTER = 2, 2
"""Neighbours of a relevant line in a longer text."""
_MOST_RANKED = 12
_MOST_EXPLAINED = 6
"""Causes of which the line is told that weighs most."""
_NONE_COUNTED = lazy(
    r"(?i)(?:error|correctable|fault|failure|replay|retr(?:y|ie))\w{0,3}(?: \w{1,12}){0,2} {0,40}[:=] ?0$"
)
"""A count of faults, of which there were none: its words are no sign of one."""
_HEADING = lazy(
    r"^\|.*(?:Persistence-M|Volatile Uncorr|GPU-Util|MIG M\.|Processes:|Process name|ID +ID +|Usage +\|$|%GMBW)"
)
"""Of the table that nvidia-smi or nvitop prints, sick or sound."""
_WORD = lazy(r"[a-z_]{2,}|\d+(?:\.\d+)*")


def terms(text: str) -> set[str]:
    """Of a line: its words, pairs of neighbours, and all four letters in a row of each word (after a `#`)."""
    words = _WORD.findall(text.lower())[:_MOST_WORDS]
    found = {*words, *(f"{one} {next_}" for one, next_ in itertools.pairwise(words))}
    for word in set(words):
        found |= _parts(word)
    return found


@lru_cache(maxsize=4096)
def _parts(word: str) -> frozenset[str]:
    edged = f"<{word[:_LONGEST_WORD]}>"
    return frozenset(f"#{edged[at : at + 4]}" for at in range(len(edged) - 3))


def relevant(lines: list[Line], heard: Collection[int]) -> list[Line]:
    """Of a longer text the lines that report an error or were understood (`heard`), with their neighbours.

    At most 100,000 characters; those that come later are left out.
    """
    if len(lines) > _SHORT:
        chosen: set[int] = set()
        for index, line in enumerate(lines):
            if line.number in heard or reports_error(line.text):
                chosen.update(range(index - _BEFORE, index + _AFTER + 1))
        lines = [line for index, line in enumerate(lines) if index in chosen]
    return list(_bounded(lines))


def _bounded(lines: Iterable[Line]) -> Iterator[Line]:
    room, seen = _MOST_CHARACTERS, set()
    for line in lines:
        if line.text in seen or _says_nothing(line.text):
            continue
        seen.add(line.text)
        if (room := room - len(line.text)) < 0:
            return
        yield line


def _says_nothing(text: str) -> bool:
    return bool(_HEADING.search(text) if text.startswith("|") else text.endswith("0") and _NONE_COUNTED.search(text))


class Model(NamedTuple):
    """The file, ready to be trained."""

    about: dict[str, Any]
    """Its head: causes, where it was trained on, what cross-validation has shown."""
    columns: dict[str, int]
    """Term to its column."""
    counts: array[int]
    """Of each column: in how many documents its term stands."""
    weights: memoryview
    """Signed bytes: for each column one for each cause."""

    @property
    def causes(self) -> list[str]:
        """In the order of a column's weights."""
        names: list[str] = self.about["causes"]
        return names

    def idf(self, column: int) -> float:
        """What a term weighs: the more, the fewer documents have it."""
        return log((1 + self.about["documents"]) / (1 + self.counts[column])) + 1

    def column(self, term: int) -> list[int]:
        """The weights of a term, one for each cause, in units of the cause's scale."""
        count = len(self.causes)
        return self.weights[term * count : (term + 1) * count].tolist()

    def vector(self, found: Iterable[str]) -> dict[int, float]:
        """Column to value, of length 1; in the order of the columns, so that sums are the same everywhere."""
        columns = sorted(self.columns[term] for term in found if term in self.columns)
        worth = {column: self.idf(column) for column in columns}
        length = sqrt(sum(value**2 for value in worth.values())) or 1.0
        return {column: value / length for column, value in worth.items()}

    def scores(self, vector: dict[int, float]) -> list[float]:
        """The logit of each cause."""
        sums = [0.0] * len(self.causes)
        for column, value in vector.items():
            sums = [have + value * weight for have, weight in zip(sums, self.column(column), strict=True)]
        rows = zip(sums, self.about["scales"], self.about["intercepts"], strict=True)
        return [have * scale + intercept for have, scale, intercept in rows]

    def shares(self, scores: Iterable[float]) -> list[float]:
        """The probability of each cause, as cross-validation has corrected it; their sum is 1."""
        sharp = [score * self.about["sharpness"] for score in scores]
        most = max(sharp)
        powers = [exp(score - most) for score in sharp]
        total = sum(powers)
        return [power / total for power in powers]


def probability(knots: Sequence[Sequence[float]], share: float) -> float:
    """How often a cause with such a share was the right one in cross-validation: (share, probability), rising."""
    for (low, begin), (high, end) in pairwise(knots):
        if low <= share <= high and high > low:
            return begin + (end - begin) * (share - low) / (high - low)
    return knots[-1][1]


def parse(data: bytes) -> Model:
    """The model of a file's bytes: its head as a line of JSON, then packed the terms, their counts and the weights.

    Of the weights, a row for each term, only those that are not 0 stand there: how far each is behind the one before,
    and then all of them.
    """
    head, _, packed = data.partition(b"\n")
    about = json.loads(head)
    rows = zlib.decompress(packed)
    words, _, rest = rows.partition(b"\n\n")
    names = _unfolded(words.decode().split("\n"))
    low, high, packed = rest[: len(names)], rest[len(names) : 2 * len(names)], rest[2 * len(names) :]
    counts = array("H", (a + 256 * b for a, b in zip(low, high, strict=True)))
    gaps, found = packed[: len(packed) // 2], packed[len(packed) // 2 :]
    weights = bytearray(len(names) * len(about["causes"]))
    for at, weight in zip(itertools.accumulate(gaps), found, strict=True):
        weights[at] = weight
    index = {name: column for column, name in enumerate(names)}
    return Model(about, index, counts, memoryview(weights).cast("b"))


def _unfolded(rows: list[str]) -> list[str]:
    """Terms in order, each written as how many letters it shares with the one before, and the rest."""
    names, last = [], ""
    for row in rows:
        last = last[: ord(row[0]) - 32] + row[1:]
        names.append(last)
    return names


@lru_cache(maxsize=1)
def model() -> Model:
    """The one that is shipped."""
    return parse(get_data(__package__, FILE) or b"")


def ranked(lines: list[Line], heard: Collection[int]) -> tuple[tuple[Ranked, ...], dict[int, float]]:
    """The causes that the words of a text make likely, the likeliest first, and its vector.

    Nothing of both where it holds no known word.
    """
    return ranked_by(model(), [(line, terms(line.text)) for line in relevant(lines, heard)], lines)


def ranked_by(
    trained: Model,
    by_line: list[tuple[Line, set[str]]],
    lines: Sequence[Line],
    corrected: Callable[[list[float]], list[float]] = list,
) -> tuple[tuple[Ranked, ...], dict[int, float]]:
    """The same by any model, of lines with their terms. `lines`: all of the text; `corrected`: changes the shares."""
    vector = trained.vector(set().union(*(found for _, found in by_line)) if by_line else ())
    if not vector:
        return (), vector
    shares = corrected(trained.shares(trained.scores(vector)))
    order = sorted(range(len(shares)), key=lambda row: (-shares[row], row))[:_MOST_RANKED]
    heavy = _heaviest(trained, vector, by_line, order[:_MOST_EXPLAINED])
    found = tuple(
        Ranked(
            cause=trained.causes[row],
            share=round(shares[row], 4),
            line=heavy[row].number if row in heavy else 0,
            text=_as_written(lines, heavy[row])[:_QUOTED] if row in heavy else "",
        )
        for row in order
    )
    return found, vector


def _as_written(lines: Iterable[Line], heavy: Line) -> str:
    """The line as the text has it, not the form that `heavy` reads (`nvidia_smi:` as the name of a value)."""
    first = next((line.text for line in lines if line.number == heavy.number), heavy.text)
    return (first if len(first) <= _QUOTED else heavy.text).strip()


def _heaviest(
    trained: Model, vector: dict[int, float], by_line: list[tuple[Line, set[str]]], rows: list[int]
) -> dict[int, Line]:
    """Of each of these causes the line whose terms weigh most; none where no line speaks for it."""
    worth: dict[int, list[float]] = {}
    for column, value in vector.items():
        weights = trained.column(column)
        worth[column] = [value * weights[row] for row in rows]
    best: dict[int, tuple[float, Line]] = {}
    for line, found in by_line:
        known = [worth[trained.columns[term]] for term in sorted(found) if trained.columns.get(term) in worth]
        for row, weight in zip(rows, map(sum, zip(*known, strict=True)), strict=False):
            if weight > max(0.0, best[row][0] if row in best else 0.0):
                best[row] = (weight, line)
    return {row: line for row, (_, line) in best.items()}
