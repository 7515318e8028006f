"""Packs the index of solved cases, which `doctor.text.solved` reads."""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Sequence
from itertools import pairwise

from doctor.text.ranker import Model
from doctor.text.solved import STEP
from training.ranker_cases import Example

FEATURES = 50
"""Terms of a case that are kept, the weightiest."""


def solved(model: Model, examples: Sequence[Example]) -> bytes:
    """The file's bytes: of each case its words, and of each column of the model the cases that hold it.

    A term weighs what the model says, over the length of the case: of that one number stands here.
    Like cases stand together, by their causes, so that a column's are near each other.
    """
    examples = sorted(examples, key=lambda example: (example.cause, example.url))
    places: list[list[int]] = [[] for _ in model.columns]
    lengths = array("H")
    for number, example in enumerate(examples):
        vector = model.vector(example.terms)
        kept = sorted(vector, key=lambda column: (-vector[column], column))[:FEATURES]
        for column in kept:
            places[column].append(number)
        lengths.append(round(STEP * model.idf(kept[0]) / vector[kept[0]]) if kept else STEP)
    gaps = [number - last for column in places for last, number in pairwise([0, *column])]
    counts = array("H", map(len, places)).tobytes()
    # Low and high bytes apart pack better: most gaps are short.
    planes = bytes(gap & 255 for gap in gaps) + bytes(gap >> 8 for gap in gaps)
    index = zlib.compress(lengths.tobytes() + counts + planes, 9)
    words = [[getattr(example, name) for example in examples] for name in ("title", "cause", "fix", "url")]
    texts = zlib.compress(json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode(), 9)
    head = {"format": 5, "cases": len(examples), "columns": len(places), "places": len(gaps), "rows": len(texts)}
    return json.dumps(head).encode() + b"\n" + texts + index
