"""Trains the model of sentences in other languages and writes doctor/text/other_languages.bin.

    pip install -e '.[train]'
    python training/other_languages.py [--check | --report]

It learns from `benchmarks/cases/sentences/*.toml` alone. In five folds, which take the same sentences of all languages,
each is ranked by a model that has not seen it: from this come the probabilities. --report writes nothing; it prints how
many of each language are right in the last fold. --check writes nothing; it fails where the file does not rank the
sentences as a new build would.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

sys.path.insert(0, str(Path(__file__).parents[1]))

from doctor.text import other_languages
from doctor.text.other_languages import combined, parts, sentences
from doctor.text.ranker import NOTHING, Model, parse, terms
from doctor.text.statement import Line
from training.ranker_calibrate import Ranks, calibration
from training.ranker_cases import ROOT, Example
from training.ranker_fit import fit, repacked, scores

FILE = ROOT / "doctor" / "text" / other_languages.FILE
SENTENCES = ROOT / "benchmarks" / "cases" / "sentences"
FOLDS = 5
CLOSE = 0.002
"""Probabilities of two builds differ less on other machines, whose sums end in other digits."""
TERMS = 6_000
STRENGTH = 8.0
"""Less than of the other ranker: here are fewer texts, and each is short."""


class Sentence(NamedTuple):
    """One sentence of the data."""

    language: str
    cause: str
    number: int
    """Its place among those of its cause, from 0."""
    text: str

    @property
    def fold(self) -> int:
        """Two of ten neighbours are in each."""
        return self.number % FOLDS


def load() -> list[Sentence]:
    """All sentences of all languages."""
    files = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(SENTENCES.glob("*.toml"))}
    return [
        Sentence(language, cause, number, text)
        for language, causes in files.items()
        for cause, texts in causes.items()
        for number, text in enumerate(texts)
    ]


def trained(rows: Sequence[Sentence]) -> Model:
    """The model of these sentences; of those that report no fault, only what it would be asked about."""
    rows = [row for row in rows if row.cause != NOTHING or sentences([Line(1, row.text)])]
    return fit([frozenset(parts(row.text)) for row in rows], [row.cause for row in rows], TERMS, STRENGTH)


def ranks_of(rows: Sequence[Sentence], folds: Sequence[int] = range(FOLDS)) -> list[tuple[Sentence, Ranks]]:
    """Each sentence of these folds, ranked by a model that has not seen its fold."""
    found = []
    for fold in folds:
        model = trained([row for row in rows if row.fold != fold])
        left = [row for row in rows if row.fold == fold]
        for row, scored in zip(left, scores(model, [frozenset(parts(row.text)) for row in left]), strict=True):
            shares = combined(model.shares(map(float, scored)), model.causes, terms(row.text))
            example = Example("", "", "", "", row.cause, frozenset((row.cause,)), "", True, row.text, frozenset())
            logits = dict(zip(model.causes, map(log, shares), strict=True))
            found.append((row, Ranks(example, logits, lambda name: False)))
    return found


def built() -> tuple[bytes, dict[str, Any]]:
    """The file's bytes, and what was added to its head."""
    rows = load()
    head: dict[str, Any] = {"sentences": len(rows), "calibration": calibration([one for _, one in ranks_of(rows)], 1.0)}
    return repacked(trained(rows), head), head


def faults() -> list[str]:
    """Sentences that the shipped file ranks otherwise than a new build of them."""
    rows, shipped = load(), parse(FILE.read_bytes())
    new = trained(rows)
    if shipped.causes != new.causes or shipped.about["sentences"] != len(rows):
        return [f"{FILE.name} is of other sentences"]
    terms_of = [frozenset(parts(row.text)) for row in rows]
    apart = []
    for row, ours, theirs in zip(rows, scores(shipped, terms_of), scores(new, terms_of), strict=True):
        pairs = zip(shipped.shares(map(float, ours)), new.shares(map(float, theirs)), strict=True)
        if (difference := max(abs(a - b) for a, b in pairs)) > CLOSE:
            apart.append(f"{row.text}: {difference:.3f}")
    return apart


def report() -> None:
    """How many sentences of the last fold, which nothing was chosen by, are right."""
    found = ranks_of(load(), [FOLDS - 1])
    counts: dict[str, Counter[str]] = {}
    for row, ranks in found:
        order = [*ranks.shares(1.0)]
        of = counts.setdefault(row.language, Counter())
        if row.cause == NOTHING:
            of["sound"] += 1
            of["called sound"] += order[0] == NOTHING
            continue
        of["sentences"] += 1
        of["first"] += order[0] == row.cause
        of["first three"] += row.cause in order[:3]
    for language, of in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        print(language, dict(of))


def main() -> int:
    """Build, check or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare the file with a new build")
    parser.add_argument("--report", action="store_true", help="write nothing, print how many are right")
    given = parser.parse_args()
    if given.report:
        report()
        return 0
    if given.check:
        found = faults()
        print("\n".join(found) or "the file ranks the sentences as a new build does")
        return 1 if found else 0
    data, head = built()
    FILE.write_bytes(data)
    print(f"{FILE.name}: {len(data):,} bytes, {head}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
