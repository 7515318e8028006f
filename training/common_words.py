"""Writes `doctor/snapshot/common_words.txt`: words that pasted texts are made of, which no name of somebody hides.

    python training/common_words.py

A user called `will` or `mark` is masked where a name stands (a prompt, a home folder), not in every sentence: a word
that texts on our subject use, or that the readers of texts look for, is left where it is only a word.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
TARGET = ROOT / "doctor" / "snapshot" / "common_words.txt"
_LEAST = 3
"""Texts that use a word before it counts as common."""
_WORD = re.compile(r"(?<![\w.@/\\-])[a-z]{3,14}(?![\w@/\\-])")


def main() -> None:
    from benchmarks.cases import load_cases, renderer

    render = renderer()
    used = Counter[str]()
    for case in load_cases():
        told = (case.get("title"), case["root_cause"].get("sentence"), case.get("fix"))
        text = "\n".join([render(case), *(text for text in told if text)])
        used.update(set(_WORD.findall(text.lower())))
    words = {word for word, count in used.items() if count >= _LEAST}
    for path in (ROOT / "doctor" / "text").glob("*.json"):
        words.update(_WORD.findall(path.read_text("utf-8").lower().replace("\\b", " ")))
    TARGET.write_text(packed(sorted(words)), "utf-8")
    print(f"{len(words)} words, {TARGET.stat().st_size} bytes")


def packed(words: Sequence[str]) -> str:
    """The file's text: of each word, in a line, the length of what it shares with the one before it, and the rest.

    a to z: 0 to 25; as `doctor.snapshot.name_kinds` reads it. A quarter smaller in the wheel.
    """
    lines = []
    for last, word in pairwise(["", *words]):
        differ = (at for at, (a, b) in enumerate(zip(last, word, strict=False)) if a != b)
        shared = next(differ, min(len(last), len(word)))
        lines.append(chr(ord("a") + shared) + word[shared:])
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
