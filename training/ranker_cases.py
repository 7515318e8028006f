"""The cases that the ranker is trained on: what it is given of each, its cause, and what the rules say of it."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
CASES = ROOT / "benchmarks" / "cases"
LOG = ROOT / "benchmarks" / "training_log.txt"


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


def load(folder: Path = CASES) -> list[Example]:
    """All cases, in the order of their files' names."""
    from benchmarks.cases import renderer

    render = renderer(folder)
    cases = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    return [_example(case, render(case)) for case in cases]


def _example(case: dict[str, Any], text: str) -> Example:
    url: str = case["source"]
    found = re.match(r"https?://([^/]+/[^/]+/[^/#?]+)", url.lower())
    cause: str = case["root_cause"]["slug"]
    return Example(
        id=case["id"],
        url=url,
        repository=found[1] if found else url,
        title=case["title"],
        cause=cause,
        right=frozenset((cause, *(case.get("also") or ()))),
        fix=case["fix"],
        decidable=case["decidable"] == "yes",
        text=text,
        terms=terms_of(text),
    )


def terms_of(text: str) -> frozenset[str]:
    """What the ranker takes of a text."""
    from doctor.text.ranker import relevant, terms
    from doctor.text.text import heard_lines

    return frozenset().union(*(terms(line.text) for line in relevant(*heard_lines(text))))


def inside_log(text: str, log: str) -> str:
    """The text in the midst of a log's lines."""
    rows = log.splitlines()
    half = len(rows) // 2
    return "\n".join([*rows[:half], text.strip("\n"), *rows[half:]]) + "\n"


def folds(examples: Sequence[Example], count: int) -> list[int]:
    """The fold of each: whole repositories, the largest first, each into the smallest fold."""
    sizes = Counter(example.repository for example in examples)
    room, fold_of = [0] * count, {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], sha256(name.encode()).hexdigest())):
        fold_of[name] = room.index(min(room))
        room[fold_of[name]] += sizes[name]
    return [fold_of[example.repository] for example in examples]


if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
