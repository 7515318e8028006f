"""Where a text contains what a table entry looks for: a fixed text first, then a pattern on that line only."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line
from .words import Words

_LONG_LOG = 5000
"""Distinct lines."""
_MOST_TRIES = 500
"""Lines with the text of an entry that are looked at: some words stand in every line of a log."""
_KEPT = ("xid", "Xid", "rror", "ersion", "apability", "GPU")
"""A line with one of these is not taken for the same as one with other numbers."""


class Haystack:
    """A text made ready for many searches."""

    def __init__(self, lines: list[Line], words: Words) -> None:
        self._all, self._words = lines, words
        self._lines: list[Line] = []
        self._text = ""
        self._starts: list[int] = []

    def lines_with(
        self, needles: tuple[str, ...], expression: str, words: bool = False
    ) -> Iterator[tuple[Line, tuple[str, ...]]]:
        """Lines that hold one of the texts (lower case) and match the expression, with its groups; equal lines once.

        `words`: the expression is of people's words: an underscore is a blank to it, and a question that yes or no
        answers says nothing.
        """
        wanted = [needle for needle in needles if self._words.may_hold(needle)]
        if not wanted:
            return
        if not self._starts:
            self._prepare()
        pattern: re.Pattern[str] | None = None
        seen: set[int] = set()
        for needle in wanted:
            at, tries = self._text.find(needle), 0
            while at >= 0 and tries < _MOST_TRIES:
                tries += 1
                index = bisect_right(self._starts, at) - 1
                line = self._lines[index]
                if index not in seen:
                    seen.add(index)
                    pattern = pattern or (re.compile(expression, re.I) if expression else None)  # few are needed
                    text = _stated(line.text) if words else line.text
                    found = pattern.search(text) if pattern else None
                    if found or not pattern:
                        yield line, tuple(group or "" for group in found.groups()) if found else ()
                end = self._starts[index + 1] if index + 1 < len(self._starts) else len(self._text) + 1
                at = self._text.find(needle, max(end - 1, at + 1))

    def holds(self, text: str) -> bool:
        """Whether a line holds this text (lower case)."""
        if not self._words.may_hold(text):
            return False
        if not self._starts:
            self._prepare()
        return text in self._text

    def _prepare(self) -> None:
        self._lines = _distinct(self._all) + list(_kernel_messages(self._all))
        rows = [line.text.lower().strip() for line in self._lines]
        self._text = " ".join(rows)  # so a message that a terminal or mail has wrapped is found at its first line
        at = 0
        for row in rows:
            self._starts.append(at)
            at += len(row) + 1


_ASKS = lazy(
    r"(?:(?:^|(?<=[.!?:;,)-] ))(?:(?:so|or|but|and) )?(?:is|are|was|does|do|did|can|could|will|would|should|has|have)"
    r"|(?<!why )(?<!how )(?<!what )(?<![\w'])(?:is|are|was|could|can|does|do|did) (?:this|that|it|they|there|i|we))\b"
    r"(?:(?!\b(?:why|how|what|where|any(?:one|body)|some(?:one|body)|help|ideas?|solve|fix)\b)(?:[^?.!]|\.(?=\S))){1,200}"
    r"\?",
    re.I,
)
"""A question that yes or no answers: it says nothing. One with 'why' takes for granted what follows."""


def _stated(text: str) -> str:
    """People's words for a pattern: an underscore is a blank, and what they only ask is left out."""
    text = text.replace("_", " ")
    return _ASKS.sub(" ", text) if "?" in text else text


_NVRM = "NVRM: "
_MOST_PARTS = 8
"""Lines of one message of the kernel module."""
_MOST_MESSAGES = 500
_DIGITS = str.maketrans("", "", "0123456789")


def _kernel_messages(lines: list[Line]) -> Iterator[Line]:
    """Messages that the kernel module prints in several lines, `NVRM: ` before each, as one line."""
    parts: list[str] = []
    first: Line | None = None
    head, found = "", 0
    for line in lines:
        before, mark, rest = line.text.partition(_NVRM)
        if mark and first and (not before.strip() or before.translate(_DIGITS) == head):
            parts.append(rest.strip())
            if len(parts) < _MOST_PARTS:
                continue
        if first and len(parts) > 1 and found < _MOST_MESSAGES:
            found += 1
            yield Line(first.number, f"{first.text.partition(_NVRM)[0]}{_NVRM}{' '.join(parts)}")
        first, parts, head = (line, [rest.strip()], before.translate(_DIGITS)) if mark else (None, [], "")
    if first and len(parts) > 1:
        yield Line(first.number, f"{first.text.partition(_NVRM)[0]}{_NVRM}{' '.join(parts)}")


def _distinct(lines: list[Line]) -> list[Line]:
    """The first of equal lines; in a long log also of lines that differ in digits alone (progress, times)."""
    first: dict[str, Line] = {}
    for line in lines:
        first.setdefault(line.text, line)
    if len(first) < _LONG_LOG:
        return list(first.values())
    digits = str.maketrans("", "", "0123456789")
    shapes: dict[str, Line] = {}
    for text, line in first.items():
        shapes.setdefault(text if any(word in text for word in _KEPT) else text.translate(digits), line)
    return list(shapes.values())
