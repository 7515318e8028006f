"""Trains the ranker of `gpudoctor explain` on the cases and writes doctor/text/ranker.bin.

    pip install -e '.[train]'
    python training/ranker.py [--check]

The same cases give the same bytes on the same machine and pinned scikit-learn. In ten folds that never split a
repository each case is ranked by a model that has not seen it: from this come the correction of the probabilities and
the figures in the file's head. --check writes nothing; it fails where the file does not rank the cases as a new
build would.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from doctor.text import ranker
from training.ranker_cases import ROOT, Example, folds, load
from training.ranker_fit import fit, repacked, scores

FILE = ROOT / "doctor" / "text" / ranker.FILE
FOLDS = 10
CLOSE = 0.002
"""Probabilities of two builds differ less on other machines, whose sums end in other digits."""


def crossvalidated(examples: Sequence[Example], count: int = FOLDS) -> list[dict[str, float]]:
    """For each example the logit of each cause, by a model that has not seen its repository."""
    fold_of = folds(examples, count)
    found: list[dict[str, float]] = [{} for _ in examples]
    for fold in range(count):
        seen = [example for example, at in zip(examples, fold_of, strict=True) if at != fold]
        left = [number for number, at in enumerate(fold_of) if at == fold]
        made = fit([example.terms for example in seen], [example.cause for example in seen])
        for number, row in zip(left, scores(made, [examples[number].terms for number in left]), strict=True):
            found[number] = dict(zip(made.causes, map(float, row), strict=True))
    return found


def sharpened(logits: dict[str, float], sharpness: float) -> dict[str, float]:
    """The probability of each cause, the likeliest first."""
    values = np.array(list(logits.values())) * sharpness
    powers = np.exp(values - values.max())
    shares = dict(zip(logits, map(float, powers / powers.sum()), strict=True))
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def best_sharpness(examples: Sequence[Example], found: Sequence[dict[str, float]]) -> float:
    """The factor of the logits under which the right causes of the decidable cases are likeliest."""

    def loss(sharpness: float) -> float:
        total = 0.0
        for example, logits in zip(examples, found, strict=True):
            shares = sharpened(logits, sharpness)
            total -= np.log(max(sum(shares.get(name, 0.0) for name in example.right), 1e-6))
        return float(total)

    return round(float(min(np.arange(0.5, 4.0, 0.05), key=loss)), 2)


def right_within(examples: Sequence[Example], found: Sequence[dict[str, float]], places: int) -> int:
    """In how many a right cause is among the first places."""
    tops = (sorted(logits, key=lambda name: -logits[name])[:places] for logits in found)
    return sum(bool(example.right.intersection(top)) for example, top in zip(examples, tops, strict=True))


def head_of(examples: Sequence[Example]) -> dict[str, Any]:
    """What cross-validation has shown, for the head of the file."""
    found = crossvalidated(examples)
    pairs = [(example, logits) for example, logits in zip(examples, found, strict=True) if example.decidable]
    decidable, ranks = [example for example, _ in pairs], [logits for _, logits in pairs]
    texts = "\n".join(f"{example.id} {example.cause} {example.text}" for example in examples)
    return {
        "cases": len(examples),
        "repositories": len({example.repository for example in examples}),
        "digest": sha256(texts.encode()).hexdigest()[:16],
        "sharpness": best_sharpness(decidable, ranks),
        "decidable": len(decidable),
        "first": right_within(decidable, ranks, 1),
        "first_three": right_within(decidable, ranks, 3),
    }


def faults(examples: Sequence[Example]) -> list[str]:
    """Cases that the shipped file ranks otherwise than a new build of these cases."""
    shipped = ranker.parse(FILE.read_bytes())
    built = fit([example.terms for example in examples], [example.cause for example in examples])
    if shipped.causes != built.causes:
        return ["the file has other causes"]
    terms = [example.terms for example in examples]
    apart = []
    for example, ours, new in zip(examples, scores(shipped, terms), scores(built, terms), strict=True):
        difference = max(abs(a - b) for a, b in zip(shipped.shares(ours), shipped.shares(new), strict=True))
        if difference > CLOSE:
            apart.append(f"{example.id}: {difference:.3f}")
    return apart


def main() -> int:
    """Build, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare the file with a new build")
    given = parser.parse_args()
    examples = load()
    if given.check:
        found = faults(examples)
        print("\n".join(found) or "the file ranks the cases as a new build does")
        return 1 if found else 0
    built = fit([example.terms for example in examples], [example.cause for example in examples])
    head = head_of(examples)
    data = repacked(built, head)
    FILE.write_bytes(data)
    print(f"{FILE.name}: {len(data):,} bytes, {head}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
