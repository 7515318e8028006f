"""Packs the index of solved cases, which `doctor.text.solved` reads."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from itertools import groupby, pairwise

import zopfli.zlib

from doctor.text.ranker import Model
from doctor.text.solved import STEP
from training.ranker_cases import Example

FEATURES = 50
"""Terms of a case that are kept, the weightiest."""


def solved(model: Model, examples: Sequence[Example]) -> bytes:
    """The file's bytes: of each case its words, and of each column of the model the cases that hold it.

    A term weighs what the model says, over the length of the case: of that one number stands here.
    Like cases stand together, so that a column's are near each other: gaps between them are short, and pack well.
    """
    vectors = [model.vector(example.terms) for example in examples]
    kept = [sorted(vector, key=lambda column: (-vector[column], column))[:FEATURES] for vector in vectors]
    order = _like_beside_like(examples, [frozenset(columns) for columns in kept])
    places: list[list[int]] = [[] for _ in model.columns]
    lengths = array("H")
    for number, at in enumerate(order):
        for column in kept[at]:
            places[column].append(number)
        first = next(iter(kept[at]), None)
        lengths.append(STEP if first is None else round(STEP * model.idf(first) / vectors[at][first]))
    counts = array("H", map(len, places)).tobytes()
    gaps = b"".join(
        bytes([255] * (gap // 255) + [gap % 255])
        for column in sorted(places, key=len, reverse=True)
        for gap in (number - last for last, number in pairwise([0, *column]))
    )
    examples = [examples[at] for at in order]
    index = zopfli.zlib.compress(lengths.tobytes() + counts + gaps)
    words = [[getattr(example, name) for example in examples] for name in ("title", "cause", "fix", "url")]
    texts = zopfli.zlib.compress(json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode())
    head = {"format": 6, "cases": len(examples), "columns": len(places), "rows": len(texts)}
    return json.dumps(head).encode() + b"\n" + texts + index


def _like_beside_like(examples: Sequence[Example], terms: Sequence[frozenset[int]]) -> list[int]:
    """The cases by their causes; of a cause each beside the one that shares most terms with it."""
    order: list[int] = []
    numbers = sorted(range(len(examples)), key=lambda at: (examples[at].cause, examples[at].url))
    for _, group in groupby(numbers, lambda at: examples[at].cause):
        left = list(group)
        while left:
            order.append(max(left, key=lambda at: len(terms[at] & terms[order[-1]]) if order else 0))
            left.remove(order[-1])
    return order
