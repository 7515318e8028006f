"""The cases that the ranker is trained on: what it is given of each, its cause, and what the rules say of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from doctor.findings.renamed import current
from doctor.judge.report import Report
from doctor.text.ranker import NOTHING
from doctor.text.text import heard

ROOT = Path(__file__).parents[1]
FROZEN = ROOT / "benchmarks" / "frozen_rules.jsonl"
SAMPLES = ROOT / "tests" / "text"
LOG = ROOT / "benchmarks" / "training_log.txt"


_MOST_CAUSES = 3
_TELLING = 25
"""Characters of a line that is of one text alone."""


class Example(NamedTuple):
    """One case."""

    id: str
    url: str
    repository: str
    """`github.com/owner/name` of its thread: cases of one never stand in two folds."""
    title: str
    cause: str
    right: frozenset[str]
    """The cause, and those that its label calls as right."""
    fix: str
    decidable: bool
    text: str
    terms: frozenset[str]
    """Of the lines that the ranker reads."""
    sample: bool = False
    """It is a sample of the tests and no case."""


def load(where: Path | None = None) -> list[Example]:
    """All cases of a set, else of the public one, sorted by id."""
    from benchmarks.cases import CASES, load_cases, renderer

    render = renderer(where or CASES)
    return [_example(case, render(case)) for case in load_cases(where or CASES)]


def samples() -> list[Example]:
    """Lines of tools whose cause the tests know, and harmless ones: learnt from, and not counted in any figure.

    A line that several causes can print is one example of each: its words alone make none of them likely.
    """
    found = []
    for name in ("samples", "tool_lines"):
        for number, row in enumerate(json.loads((SAMPLES / f"{name}.json").read_text("utf-8"))):
            known = row.get("decides") or row.get("proves") or ("harmless" in row and NOTHING)
            for cause in [known] if known else _several(row):
                case = {"id": f"{name}/{number}", "source": "", "title": "", "fix": "", "root_cause": {"slug": cause}}
                found.append(_example({**case, "decidable": "no"}, row["text"])._replace(sample=True))
    return found


def _several(row: dict[str, Any]) -> list[str]:
    causes = [row["likely"]] if "likely" in row else []
    causes += [cause for symptom in heard(row["text"])[0].symptoms for cause in symptom.suggests]
    return list(dict.fromkeys(causes))[:_MOST_CAUSES]


def may_teach(example: Example, left_out: str) -> bool:
    """Whether a sample has no line of these texts, which are to be ranked as if nobody had seen them."""
    return not any(len(row) >= _TELLING and row in left_out for row in map(str.strip, example.text.splitlines()))


def _example(case: dict[str, Any], text: str) -> Example:
    url: str = case["source"]
    found = re.match(r"https?://([^/]+/[^/]+/[^/#?]+)", url.lower())
    cause = current(case["root_cause"]["slug"])
    return Example(
        id=case["id"],
        url=url,
        repository=found[1] if found else url,
        title=case["title"],
        cause=cause,
        right=frozenset((cause, *map(current, case.get("also") or ()))),
        fix=case["fix"],
        decidable=case["decidable"] == "yes",
        text=text,
        terms=terms_of(text),
    )


def terms_of(text: str) -> frozenset[str]:
    """What the ranker takes of a text."""
    from doctor.text.ranker import relevant, terms

    _, lines, numbers = heard(text)
    return frozenset().union(*(terms(line.text) for line in relevant(lines, numbers)))


def report_of(text: str) -> Report:
    """What the rules say of a text, without the ranker."""
    from compat_matrix import Matrix
    from doctor.commands.assess import assess
    from doctor.findings import Policy

    return assess(heard(text)[0], Matrix.load(), Policy(judged_on="2026-11-20"))


def rules_of(text: str) -> Callable[[str], bool]:
    """Whether the facts of a text rule a cause out, as its report says."""
    from doctor.text.suspects import ruled_out

    report = report_of(text)
    return ruled_out(report.snapshot, report.checks)


def speaks(text: str) -> bool:
    """Whether a line of the text says that something fails."""
    from doctor.text.suspects import speaks_of_a_fault

    return speaks_of_a_fault(heard(text)[0])


class Frozen(NamedTuple):
    """What the rules said of a case before anybody had seen it (`benchmarks/frozen_rules.py`)."""

    first: str
    """The first finding; '' where it is not proven."""
    possible: tuple[str, ...]


def frozen() -> dict[str, Frozen]:
    """Of the cases for which it is known."""
    found = {}
    for row in map(json.loads, FROZEN.read_text("utf-8").splitlines()):
        row |= {"first": current(row["first"]), "possible": [*map(current, row["possible"])]}
        likely = row["status"] == "warn" and row["first"] in row["possible"]
        proven = row["status"] in ("fail", "warn") and not likely
        found[row["case"]] = Frozen(row["first"] if proven else "", tuple(row["possible"]))
    return found


def inside_log(text: str, log: str) -> str:
    """The text in the midst of a log's lines."""
    rows = log.splitlines()
    half = len(rows) // 2
    return "\n".join([*rows[:half], text.strip("\n"), *rows[half:]]) + "\n"


def folds(examples: Sequence[Example], count: int) -> list[int]:
    """The fold of each: whole repositories, the largest first, each into the smallest fold; -1 of what has none."""
    sizes = Counter(example.repository for example in examples if example.repository)
    room, fold_of = [0] * count, {"": -1}
    for name in sorted(sizes, key=lambda name: (-sizes[name], sha256(name.encode()).hexdigest())):
        fold_of[name] = room.index(min(room))
        room[fold_of[name]] += sizes[name]
    return [fold_of[example.repository] for example in examples]
