"""Packs the index of solved cases, which `doctor.text.solved` reads."""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Sequence

from doctor.text.ranker import Model
from doctor.text.solved import STEP
from training.ranker_cases import Example

FEATURES = 60
"""Terms of a case that are kept, the weightiest."""
COARSE = 16
"""Values are whole multiples of this: they pack better, and the cosines hardly change."""


def solved(model: Model, examples: Sequence[Example]) -> bytes:
    """The file's bytes: of each case its words, and of each column of the model the cases that hold it."""
    places: list[list[tuple[int, int]]] = [[] for _ in model.columns]
    for number, example in enumerate(examples):
        vector = model.vector(example.terms)
        for column in sorted(vector, key=lambda column: (-vector[column], column))[:FEATURES]:
            value = COARSE * max(1, round(vector[column] * STEP / COARSE))
            places[column].append((number, min(255, value)))
    flat = [place for column in places for place in column]
    counts = array("H", map(len, places)).tobytes()
    # Low and high bytes apart pack better by a tenth: the high ones of a column's cases rise.
    planes = bytes(number & 255 for number, _ in flat) + bytes(number >> 8 for number, _ in flat)
    index = zlib.compress(counts + planes + bytes(value for _, value in flat), 9)
    rows = [[example.title, example.cause, example.fix, example.url] for example in examples]
    texts = zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(), 9)
    head = {"format": 2, "cases": len(examples), "columns": len(places), "places": len(flat), "rows": len(texts)}
    return json.dumps(head).encode() + b"\n" + texts + index
