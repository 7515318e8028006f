"""Trains the ranker of `gpudoctor explain` on the cases and writes doctor/text/ranker.bin and solved.bin.

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

from doctor.text import ranker
from doctor.text import solved as nearest
from doctor.text.ranker import probability
from training.ranker_calibrate import Ranks, best_sharpness, calibration, threshold
from training.ranker_cases import ROOT, Example, folds, frozen, load, may_teach, rules_of, samples
from training.ranker_fit import fit, repacked, scores
from training.ranker_solved import solved

FILE = ROOT / "doctor" / "text" / ranker.FILE
SOLVED = ROOT / "doctor" / "text" / nearest.FILE
FOLDS = 10
CLOSE = 0.002
"""Probabilities of two builds differ less on other machines, whose sums end in other digits."""


def crossvalidated(
    examples: Sequence[Example], count: int = FOLDS, asked: Sequence[frozenset[str]] = (), part: float = 1.0
) -> list[dict[str, float]]:
    """For each example the logit of each cause, by a model that has not seen its repository; none of samples.

    `asked`: terms of each example that are ranked in place of its own. `part`: of the repositories, to learn from.
    """
    fold_of = folds(examples, count)
    found: list[dict[str, float]] = [{} for _ in examples]
    for fold in range(count):
        left = [number for number, at in enumerate(fold_of) if at == fold]
        texts = "\n".join(examples[number].text for number in left)
        seen = [
            example
            for example, at in zip(examples, fold_of, strict=True)
            if (may_teach(example, texts) if example.sample else at != fold and in_part(example.repository, part))
        ]
        made = fit([example.terms for example in seen], [example.cause for example in seen])
        terms = [(asked or [example.terms for example in examples])[number] for number in left]
        for number, row in zip(left, scores(made, terms), strict=True):
            found[number] = dict(zip(made.causes, map(float, row), strict=True))
    return found


def in_part(repository: str, part: float) -> bool:
    """Whether a repository is in this share of all, drawn by its name."""
    return int(sha256(repository.encode()).hexdigest()[:8], 16) < part * 2**32


def ranks_of(examples: Sequence[Example]) -> list[Ranks]:
    """The decidable ones, each ranked by a model that has not seen its repository."""
    found = zip(examples, crossvalidated(examples), strict=True)
    return [Ranks(example, logits, rules_of(example.text)) for example, logits in found if example.decidable]


def right_within(ranks: Sequence[Ranks], places: int, struck: bool = False) -> int:
    """In how many a right cause is among the first places."""
    return sum(bool(one.example.right.intersection([*one.shares(1.0, struck)][:places])) for one in ranks)


def head_of(examples: Sequence[Example], ranks: Sequence[Ranks]) -> dict[str, Any]:
    """What cross-validation has shown, for the head of the file."""
    texts = "\n".join(f"{example.id} {example.cause} {example.text}" for example in examples)
    head: dict[str, Any] = {
        "cases": len(examples) - sum(example.sample for example in examples),
        "samples": sum(example.sample for example in examples),
        "repositories": len({example.repository for example in examples}),
        "digest": sha256(texts.encode()).hexdigest()[:16],
        "sharpness": best_sharpness(ranks),
    }
    head["calibration"] = calibration(ranks, head["sharpness"])
    found = threshold(ranks, frozen(), head["sharpness"], lambda share: probability(head["calibration"], share))
    return {
        **head,
        "threshold": found.probability,
        "threshold_calls": found.calls,
        "threshold_right": found.right,
        "threshold_of": found.silent,
        "threshold_causes": found.causes,
        "decidable": len(ranks),
        "first": right_within(ranks, 1),
        "first_three": right_within(ranks, 3),
    }


def faults(examples: Sequence[Example]) -> list[str]:
    """Cases that the shipped file ranks otherwise than a new build of these cases."""
    shipped = ranker.parse(FILE.read_bytes())
    built = fit([example.terms for example in examples], [example.cause for example in examples])
    if shipped.causes != built.causes:
        return ["the file has other causes"]
    if SOLVED.read_bytes() != solved(shipped, [example for example in examples if not example.sample]):
        return [f"{SOLVED.name} is of other cases"]
    terms = [example.terms for example in examples]
    apart = []
    for example, ours, new in zip(examples, scores(shipped, terms), scores(built, terms), strict=True):
        difference = max(abs(a - b) for a, b in zip(shipped.shares(ours), shipped.shares(new), strict=True))
        if difference > CLOSE:
            apart.append(f"{example.id}: {difference:.3f}")
    return apart


def everything() -> list[Example]:
    """All that the ranker learns from."""
    return [*load(), *samples()]


def main() -> int:
    """Build, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare the file with a new build")
    given = parser.parse_args()
    examples = everything()
    if given.check:
        found = faults(examples)
        print("\n".join(found) or "the file ranks the cases as a new build does")
        return 1 if found else 0
    built = fit([example.terms for example in examples], [example.cause for example in examples])
    head = head_of(examples, ranks_of(examples))
    data = repacked(built, head)
    FILE.write_bytes(data)
    SOLVED.write_bytes(solved(ranker.parse(data), [example for example in examples if not example.sample]))
    print(f"{FILE.name}: {len(data):,} bytes, {head}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
