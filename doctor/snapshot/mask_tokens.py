"""Tokens that are known by their own form, wherever they stand: `token_formats.json`, and words made by chance.

The words of a text are looked up by their beginnings; only the formats whose beginning (or fixed part) is there are
compiled and tried. The file is read when the first text is masked, never at import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from msgspec.json import decode

from .spans import Scan, Span, any_of, compiled, offsets

_MANY = 20
"""Words that are looked for one by one."""
_AROUND = 300
"""Characters before and after a fixed part that its pattern is tried on."""
_KINDS = {c: "d" if chr(c).isdigit() else "u" if chr(c).isupper() else "l" for c in range(128)}
_CHANGES = ("du", "dl", "ud", "ul", "ld", "lu")
_RUN = r"[A-Za-z0-9]{24,}"
_DISCORD = r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}"


@cache
def _formats() -> tuple[dict[str, list[tuple[str, str]]], tuple[tuple[str, str, str], ...]]:
    """First two characters to (beginning of a word, pattern), and (word in it, text, pattern)."""
    beginnings: dict[str, list[tuple[str, str]]] = {}
    parts = []
    with open(os.path.join(os.path.dirname(__file__), "token_formats.json"), "rb") as file:  # noqa: PTH118, PTH120
        rows = decode(file.read())["formats"]
    for row in rows:
        for prefix in row.get("prefixes", ()):
            beginnings.setdefault(prefix[:2], []).append((prefix, row["pattern"]))
        for part in row.get("find", ()):
            parts.append((max(re.findall(r"[\w.-]+", part), key=len), part, row["pattern"]))
    return beginnings, tuple(parts)


def find_tokens(scan: Scan) -> Iterator[Span]:
    """Every token in a text."""
    if len(scan.text) < 12:
        return
    beginnings, parts = _formats()
    led: dict[str, list[str]] = {}
    random: list[str] = []
    for word in scan.words:
        if len(word) < 4:
            continue
        bare = word.lstrip("_.-")
        if rows := beginnings.get(bare[:2]):
            for prefix, pattern in rows:
                if bare.startswith(prefix):
                    led.setdefault(pattern, []).append(bare)
        if len(bare) >= 24 and not (bare.islower() or bare.isupper() or word.startswith(("_Z", "__Z"))):
            random += _by_chance(bare)
    for at, run in any_of(scan.text, set(random), r"[A-Za-z0-9]+"):
        yield Span(at, at + len(run))
    for pattern, words in led.items():
        yield from _matches(scan, words, pattern)
    for word, part, pattern in parts:
        if len(word) < 2 or scan.may_hold(word):
            yield from _around(scan, part, pattern)


def _matches(scan: Scan, words: list[str], pattern: str) -> Iterator[Span]:
    text, expression = scan.text, compiled(pattern)
    if len(words) > _MANY:
        found = [m for m in expression.finditer(text) if not (m.start() and text[m.start() - 1].isalnum())]
    else:
        starts = {at for word in words for at in offsets(text, word) if not (at and text[at - 1].isalnum())}
        found = [m for at in starts if (m := expression.match(text, at))]
    for match in found:
        yield Span(*match.span())


def _around(scan: Scan, part: str, pattern: str) -> Iterator[Span]:
    at = scan.text.find(part)
    while at >= 0:
        for found in compiled(pattern).finditer(scan.text, *scan.line(at, _AROUND)):
            whole = found[0]
            left = len(whole) - len(whole.lstrip(" \t=:\"'"))
            yield Span(found.start() + left, found.start() + len(whole.rstrip(" \t\"'")))
        at = scan.text.find(part, at + len(part))


def _by_chance(word: str) -> list[str]:
    """Letters of both cases and digits, mixed as no name of a thing mixes them."""
    if word[0] in "MNO" and word.count(".") == 2 and compiled(_DISCORD).fullmatch(word):
        return [word]
    return [run for run in compiled(_RUN).findall(word) if is_random(run)]


def _has_lengths(run: str) -> bool:
    """Whether numbers tell how long the words behind them are, as in the symbols of C++."""
    return any(int(m[1]) <= len(m[2]) for m in compiled(r"([1-9]\d)([A-Za-z]+)").finditer(run) if int(m[1]) < 64)


def is_random(run: str) -> bool:
    """Whether letters and digits change as often as chance makes them, and the word is no symbol of C++."""
    if run.islower() or run.isupper() or run.isalpha() or run[0] == "Z":
        return False
    kinds = run.translate(_KINDS)
    if kinds.count("d") < 2 or kinds.count("u") < 4 or kinds.count("l") < 4:
        return False
    changes = sum(kinds.count(pair) for pair in _CHANGES)
    return changes * 10 >= len(run) * 4 and not _has_lengths(run)
