"""Spans of a text and what they become: every finder reads the text as it came, then all are replaced at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

GONE = "***"


class Span(NamedTuple):
    """`text[start:end]` becomes `mask`."""

    start: int
    end: int
    mask: str = GONE


class NameSpan(NamedTuple):
    """`text[start:end]` names a user, a host, the owner of a home, a folder that may be a user's, or is a number."""

    start: int
    end: int
    kind: str


def replaced(text: str, spans: Iterable[Span]) -> str:
    """`text` with every span's mask; what a longer one holds is gone with it, those that overlap become one secret."""
    found = sorted(spans, key=lambda span: (span.start, -span.end, span.mask != GONE))
    if not found:
        return text
    out: list[str] = []
    at = 0
    start, end, mask = found[0]
    for span in found[1:]:
        if span.start < end:
            if span.end > end:
                mask, end = GONE, span.end
            continue
        out += [text[at:start], mask]
        at = end
        start, end, mask = span
    return "".join([*out, text[at:start], mask, text[end:]])


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled on first need."""
    return re.compile(pattern)


_NOISE = (
    ("\x1b", r"\x1b(?:\[[0-9;:?]{0,32}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])"),
    ("\\u001b", r"\\u001b\[[0-9;]{0,16}m"),
    ("\\", r"\\[nrt](?![\w.-]*\\)|\\[nrt](?=[\w.-]*[=:\"' ])"),
    ("<", r"</?(?:details|summary|pre|code|br|p|div|span|b|i|em|strong|tt|samp|kbd|li|ul|ol|tr)\b[^<>]{0,200}/?>"),
    ("**", r"\*\*(?:\*+)?"),
)  # fmt: skip
"""What stands around words and is none of them: colours, tags, Markdown's bold, line ends as JSON writes them."""
_SIGNS = (
    ("&", "&quot;", '"'), ("&", "&#34;", '"'), ("&", "&#39;", "'"), ("&", "&amp;", "&"), ("&", "&lt;", "<"),
    ("&", "&gt;", ">"), ("\uff1a", "\uff1a", ":"), ("\uff1d", "\uff1d", "="), ("\u201c", "\u201c", '"'),
    ("\u201d", "\u201d", '"'), ("\u2018", "\u2018", "'"), ("\u2019", "\u2019", "'"), ("\u00a0", "\u00a0", " "),
)  # fmt: skip
_CUT = bytes(c if chr(c).isalnum() or chr(c) in "_.-" else 32 for c in range(128)) + b" " * 128
_DIGITS = b"0123456789"
_HEAD = 5
"""Characters of words by which commands are found."""
_MANY = 40
"""Words that are looked for one by one."""
_SHORT = 3000
"""Characters of a text that is not cut into words before it is searched."""
_CELL_END = r"</t[dh]>\s{0,8}<t[dh]\b[^<>]{0,100}>"


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("***") else " " * len(found[0])  # three stars: our own mask


@cache
def _without_digits(word: str) -> str:
    return "".join(c for c in word if not c.isdigit())


def flat(text: str) -> str:
    """A text of the same length in which such noise is blank and signs are plain: finders need not know of it."""
    for mark, pattern in _NOISE:
        if mark in text:
            text = compiled(pattern).sub(_blank, text)
    if "&" in text or not text.isascii():
        for mark, written, sign in _SIGNS:
            if mark in text and written in text:
                text = text.replace(written, sign.rjust(len(written)) if sign in "\"'" else sign.ljust(len(written)))
    if "</t" in text:
        text = compiled(_CELL_END).sub(lambda found: ":".ljust(len(found[0])), text)
    return text


def offsets(text: str, word: str) -> Iterator[int]:
    """Where a word stands in a text."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def any_of(text: str, words: Collection[str], run: str = r"\w+") -> Iterator[tuple[int, str]]:
    """Where each of many words stands, and the word; of more than a few only where a run of such signs begins."""
    if len(words) <= _MANY:
        for word in words:
            for at in offsets(text, word):
                yield at, word
        return
    begin: dict[str, dict[int, set[str]]] = {}  # by the first run of a word, and its length
    for word in words:
        if head := compiled(run).match(word):
            begin.setdefault(head[0], {}).setdefault(len(word), set()).add(word)
        else:
            for at in offsets(text, word):
                yield at, word
    runs: Iterable[tuple[int, str]]
    if len(begin) <= _MANY:  # `gpu-1` to `gpu-64`
        runs = ((at, first) for first in begin for at in offsets(text, first))
    else:
        runs = ((found.start(), found[0]) for found in compiled(run).finditer(text) if found[0] in begin)
    for at, first in runs:
        for length, ones in begin[first].items():
            if (word := text[at : at + length]) in ones:
                yield at, word


def left_of(text: str, at: int, signs: frozenset[str], most: int) -> int:
    """Where the run of letters, digits and these signs begins that ends before a place; at most so far before it."""
    left, first = at, max(at - most, 0)
    while left > first and (text[left - 1].isalnum() or text[left - 1] in signs):
        left -= 1
    return left


class Scan:
    """A text as the finders read it, each part made when it is asked for first."""

    def __init__(self, text: str) -> None:
        self.text = flat(text)
        self.raw = text
        self._kept: dict[str, list[Any]] = {}

    def kept(self, name: str, find: Callable[[Scan], Iterator[T]]) -> list[T]:
        """What a finder found here, found once."""
        if name not in self._kept:
            self._kept[name] = list(find(self))
        return self._kept[name]

    @cached_property
    def lower(self) -> str:
        """The text in lower case, of the same length."""
        lower = self.text.lower()
        return lower if len(lower) == len(self.text) else "".join(c.lower()[:1] for c in self.text)

    @cached_property
    def words(self) -> set[str]:
        """The words, each once: letters and digits of ASCII, `_`, `.` and `-`."""
        return set(self._cut.decode("ascii").split())

    @cached_property
    def _cut(self) -> bytes:
        """The text with a blank for each sign that no word has."""
        return self.text.encode("utf-8", "replace").translate(_CUT)

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """Where each line begins and ends, those in a string of JSON too."""
        if "\\n" not in self.raw:
            rows, at = [], 0
            for line in self.raw.split("\n"):
                rows.append((at, at + len(line)))
                at += len(line) + 1
            return rows
        rows, at = [], 0
        for end in [*(found.start() for found in compiled(r"\n|(?<!\\)\\n").finditer(self.raw)), len(self.raw)]:
            inside = self.raw.startswith("\\n", at - 2), self.raw.startswith("\\n", end)
            first = self.raw.rfind('"', at, end) + 1 if inside[1] and not inside[0] else 0
            last = self.raw.find('"', at, end) if inside[0] and not inside[1] else -1
            rows.append((first or at, end if last < 0 else last))
            at = end + (2 if inside[1] else 1)
        return rows

    @cached_property
    def dashed(self) -> list[str]:
        """The words with four dashes and more: UUIDs, names of wheels."""
        return [word for word in self.words if "-" in word and word.count("-") >= 4]

    def each(self, words: list[str], pattern: str) -> Iterator[re.Match[str]]:
        """Every match of a pattern in the places of these words."""
        words = [word for word in words if compiled(pattern).search(word)]
        if len(words) > _MANY:
            yield from compiled(pattern).finditer(self.text)
            return
        for word in words:
            for at in offsets(self.text, word):
                yield from compiled(pattern).finditer(self.text, at, at + len(word))

    @cached_property
    def _vocabulary(self) -> tuple[str, str]:
        """What is searched before the text is: its words without digits, as they are and in lower case."""
        words = b" ".join(set(self._cut.translate(None, _DIGITS).split())).decode("ascii")
        return words, words.lower()

    @cached_property
    def _heads(self) -> set[str]:
        """What a word begins with, up to so many characters."""
        heads = {word[:_HEAD] for word in self._vocabulary[1].replace("-", " ").replace("_", " ").split()}
        return {head[:length] for head in heads for length in range(1, len(head) + 1)}

    def may_hold(self, word: str) -> bool:
        """Whether some word may hold this one (in lower case: in any case); quick, for each word is looked at once."""
        if len(self.text) < _SHORT:
            return word in (self.lower if word.islower() else self.text)
        return _without_digits(word) in self._vocabulary[word.islower()]

    def may_begin(self, word: str) -> bool:
        """Whether some word may begin with this one, in any case."""
        return _without_digits(word)[:_HEAD].lower() in self._heads

    def offsets(self, word: str) -> Iterator[int]:
        """Where a text stands, in any case if it is given in lower case."""
        text = self.lower if word.islower() else self.text
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + len(word))

    def line(self, at: int, most: int) -> tuple[int, int]:
        """The line around a place, at most so far before and after."""
        first, end = max(at - most, 0), min(at + most, len(self.text))
        last = self.text.find("\n", at, end)
        return self.text.rfind("\n", first, at) + 1 or first, end if last < 0 else last
