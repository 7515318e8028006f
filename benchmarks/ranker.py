"""How often the ranker of `explain` is right in cases that it has not seen.

    pip install -e '.[train]'
    python benchmarks/ranker.py [--log] [--curve] [--causes]

By cross-validation in ten folds that never split a repository, over the decidable cases: the model alone first and in
the first three, the same with the causes struck off that the facts of the text rule out, how its probabilities fare,
and what it adds to the rules as these were before anybody had seen a case (frozen_rules.jsonl). --log: each case inside
40 kB of a real training log (training_log.txt). --curve: with a quarter, half and three quarters of the repositories.
--causes: one row for each cause. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import itertools

from benchmarks.cases import percent
from doctor.text import solved
from doctor.text.ranker import NOTHING, model, probability
from training.ranker import crossvalidated, everything, ranks_of, right_within
from training.ranker_calibrate import Ranks
from training.ranker_cases import LOG, Example, frozen, inside_log, speaks, terms_of
from training.ranker_solved import solved as solved_file

_BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)


def print_places(words: str, ranks: Sequence[Ranks], struck: bool = False) -> None:
    """First, and in the first three."""
    first, three = (right_within(ranks, places, struck) for places in (1, 3))
    print(f"| {words} | {percent(first, len(ranks))} | {percent(three, len(ranks))} |")


def print_reliability(ranks: Sequence[Ranks]) -> None:
    """Told probability of the first cause against how often it was right."""
    about = model().about
    print("\n| told | texts | mean told | right |\n| --- | ---: | ---: | ---: |")
    calls = []
    for one in ranks:
        first, part = next(iter(one.shares(about["sharpness"]).items()))
        calls.append((probability(about["calibration"], part), first in one.example.right))
    for low, high in itertools.pairwise(_BINS):
        some = [(told, right) for told, right in calls if low <= told < high]
        if some:
            mean = sum(told for told, _ in some) / len(some)
            rate = percent(sum(right for _, right in some), len(some))
            print(f"| {low:.0%} to {min(high, 1):.0%} | {len(some)} | {mean:.0%} | {rate} |")


def print_beside_rules(ranks: Sequence[Ranks]) -> None:
    """Proven findings first, then the model, with the rules as they were."""
    rules, about = frozen(), model().about
    known = [one for one in ranks if one.example.id in rules]
    sick = [one for one in known if one.example.cause != NOTHING]
    silent = [one for one in sick if not rules[one.example.id].first]
    tops = {one.example.id: [*one.shares(about["sharpness"])] for one in known}
    right = {one.example.id: one.example.right for one in known}

    def hits(some: Sequence[Ranks], places: int, of_hand: bool = False) -> int:
        lists = ((rules[one.example.id].possible if of_hand else tops[one.example.id]) for one in some)
        return sum(bool(one.example.right.intersection(top[:places])) for one, top in zip(some, lists, strict=True))

    proven = [one for one in sick if rules[one.example.id].first]
    named = sum(rules[one.example.id].first in right[one.example.id] for one in proven)
    print(f"\nsick cases judged by rules that had not seen them: {len(sick)}")
    print(f"proven: {len(proven)}, of these right {percent(named, len(proven))}")
    print(f"proven, else the hand-kept suggestions: {percent(named + hits(silent, 1, of_hand=True), len(sick))}")
    print(f"proven, else the model: {percent(named + hits(silent, 1), len(sick))}; ", end="")
    print(f"in the first three {percent(named + hits(silent, 3), len(sick))}")
    print(f"silent rules, {len(silent)} sick:")
    for words, of_hand in (("suggestions", True), ("model", False)):
        one, three = (percent(hits(silent, places, of_hand), len(silent)) for places in (1, 3))
        print(f"  {words} first {one}, in the first three {three}")
    calls = f"{about['threshold_right']} of {about['threshold_calls']} right"
    print(f"called likely: from {about['threshold']:.2f} on, {calls}")
    sound = [one for one in ranks if one.example.cause == NOTHING]
    called = []
    for one in sound:
        first, part = next(iter(one.shares(about["sharpness"]).items()))
        if first != NOTHING and round(probability(about["calibration"], part), 2) >= about["threshold"]:
            called.append(one)
    print(f"sound cases ranked as likely sick: {percent(len(called), len(sound))}; ", end="")
    told = sum(speaks(one.example.text) for one in called)
    print(f"where a line says that something fails, and so told: {percent(told, len(sound))}")


def print_causes(ranks: Sequence[Ranks]) -> None:
    """One row for each cause."""
    print("\n| cause | cases | first | first three |\n| --- | ---: | ---: | ---: |")
    for cause in sorted({one.example.cause for one in ranks}):
        some = [one for one in ranks if one.example.cause == cause]
        print(f"| {cause} | {len(some)} | {right_within(some, 1)} | {right_within(some, 3)} |")


def print_similar(examples: Sequence[Example]) -> None:
    """How often the nearest case of another repository has a right cause, over the decidable cases."""
    cases = [one for one in examples if not one.sample]
    index = solved.parse(solved_file(model(), cases))
    near = []
    for one in cases:
        cosines = index.cosines(model(), model().vector(one.terms)) if one.decidable else []
        others = [(cosine, n) for n, cosine in enumerate(cosines) if cases[n].repository != one.repository]
        if others:
            cosine, number = max(others)
            near.append((cosine, cases[number].cause in one.right))
    print(f"\nnearest solved case has the same cause: {percent(sum(right for _, right in near), len(near))}; ", end="")
    told = [right for cosine, right in near if cosine >= solved.NEAR]
    print(f"with cosine >= {solved.NEAR}: {percent(sum(told), len(told))}")


def ranked_otherwise(
    examples: Sequence[Example], asked: Sequence[frozenset[str]] = (), part: float = 1.0
) -> list[Ranks]:
    """The decidable ones, ranked by other terms or by less knowledge."""
    found = zip(examples, crossvalidated(examples, asked=asked, part=part), strict=True)
    return [Ranks(example, logits, lambda _: False) for example, logits in found if example.decidable]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("log", "curve", "causes"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args()
    examples = everything()
    ranks = ranks_of(examples)
    print("| model | first | first three |\n| --- | ---: | ---: |")
    print_places("alone", ranks)
    print_places("without what the facts rule out", ranks, struck=True)
    if given.log:
        log = LOG.read_text("utf-8")
        asked = [terms_of(inside_log(one.text, log)) if one.decidable else one.terms for one in examples]
        print_places("alone, inside 40 kB of a log", ranked_otherwise(examples, asked))
    for part in (0.25, 0.5, 0.75) if given.curve else ():
        print_places(f"alone, {part:.0%} of the repositories", ranked_otherwise(examples, part=part))
    print_beside_rules(ranks)
    print_similar(examples)
    print_reliability(ranks)
    if given.causes:
        print_causes(ranks)


if __name__ == "__main__":
    main()
