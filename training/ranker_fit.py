"""The ranker's model: which terms it keeps, its weights in whole numbers, and how they are packed."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import zopfli.zlib
from scipy.sparse import csr_matrix
from sklearn.feature_selection import chi2
from sklearn.linear_model import LogisticRegression

from doctor.text.ranker import FORMAT, Model, parse

TERMS = 8_000
STRENGTH = 60.0
"""C of the regression: the inverse of its penalty."""
TOLERANCE = 1e-5
MOST = 32
"""A cause's largest weight in whole numbers: finer steps rank no better and take twice the room."""
LEAST = 2.5
"""Weights nearer to 0 are dropped."""


def fit(terms: Sequence[frozenset[str]], causes: Sequence[str], most: int = TERMS, strength: float = STRENGTH) -> Model:
    """The model of these texts, exactly as it is read from the file that holds it."""
    counts = Counter(term for found in terms for term in found)
    names = sorted(term for term, count in counts.items() if count > 1 and "\n" not in term)
    if most < len(names):
        rows = _matrix(terms, names, counts)
        worth = np.nan_to_num(chi2(rows, causes)[0])
        names = [names[column] for column in sorted(np.argsort(-worth, kind="stable")[:most])]
    rows = _matrix(terms, names, counts)
    made = LogisticRegression(C=strength, tol=TOLERANCE, max_iter=5000).fit(rows, causes)
    scales = np.abs(made.coef_).max(axis=1) / MOST
    exact = made.coef_ / scales[:, None]
    whole = np.where(np.abs(exact) < LEAST, 0, np.rint(exact)).astype(np.int8).T
    head = {
        "format": FORMAT,
        "documents": len(terms),
        "causes": [str(name) for name in made.classes_],
        "intercepts": [round(float(value), 5) for value in made.intercept_],
        "scales": [round(float(value), 7) for value in scales],
        "sharpness": 1.0,
    }
    return parse(packed(head, names, [counts[name] for name in names], whole.tobytes()))


def _matrix(terms: Sequence[frozenset[str]], names: list[str], counts: Counter[str]) -> csr_matrix:
    """A row of length 1 for each text: the idf of each of its terms."""
    index = {name: column for column, name in enumerate(names)}
    idf = np.log((1 + len(terms)) / (1 + np.array([counts[name] for name in names]))) + 1
    ends, columns = [0], []
    for found in terms:
        columns += sorted(index[term] for term in found if term in index)
        ends.append(len(columns))
    values = idf[columns]
    for start, end in itertools.pairwise(ends):
        values[start:end] /= np.linalg.norm(values[start:end]) or 1
    return csr_matrix((values, columns, ends), shape=(len(terms), len(names)))


def packed(head: dict[str, Any], names: Sequence[str], counts: Sequence[int], weights: bytes) -> bytes:
    """The file's bytes, which `doctor.text.ranker.parse` reads."""
    numbers = [min(count, 65535) for count in counts]
    halves = bytes(number & 255 for number in numbers) + bytes(number >> 8 for number in numbers)
    blob = b"\n".join(_folded(names)) + b"\n\n" + halves + _gaps(weights)
    line = json.dumps(head, ensure_ascii=True, separators=(",", ":"))
    return line.encode() + b"\n" + zopfli.zlib.compress(blob)


def repacked(model: Model, more: dict[str, Any]) -> bytes:
    """The bytes of a model with more in its head."""
    return packed({**model.about, **more}, list(model.columns), model.counts, model.weights.tobytes())


def _gaps(weights: bytes) -> bytes:
    """How far each weight that is not 0 is behind the one before, then these weights; a 0 bridges a gap over 255."""
    gaps, kept, last = bytearray(), bytearray(), 0
    for place, weight in enumerate(weights):
        if weight or place - last == 255:
            gaps.append(place - last)
            kept.append(weight)
            last = place
    return bytes(gaps + kept)


def _folded(names: Sequence[str]) -> list[bytes]:
    rows, last = [], ""
    for name in names:
        same = 0
        while same < min(len(last), len(name), 90) and last[same] == name[same]:
            same += 1
        rows.append((chr(32 + same) + name[same:]).encode())
        last = name
    return rows


def dense(model: Model) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The weights as they count, one row for each term: for many texts at once."""
    whole = np.frombuffer(model.weights, np.int8).reshape(len(model.columns), len(model.causes))
    weights: np.ndarray[Any, np.dtype[np.float64]] = whole * np.array(model.about["scales"])
    return weights


def scores(model: Model, terms: Sequence[frozenset[str]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The logits of many texts: what `Model.scores` gives for each."""
    table = np.zeros((len(terms), len(model.columns)))
    for row, found in enumerate(terms):
        for column, value in model.vector(found).items():
            table[row, column] = value
    found_scores: np.ndarray[Any, np.dtype[np.float64]] = table @ dense(model) + np.array(model.about["intercepts"])
    return found_scores
