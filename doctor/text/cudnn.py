"""cuDNN versions by their role, however it is worded: the one a build needs, and the one that is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .grammar.words import not_here
from .statement import Line, Statement, say

_WANTED = not_here("built", "asked", "wanted")
_LOADED = lazy(r"runtime|run[ _-]time|\bload|_load|\bfound|_found|actual|\bin[ _]use|\bused\b")
_VERSION = lazy(r"(?<![\w.])(\d{1,2}\.\d{1,2}(?:\.\d{1,3}){0,2}|\d{4,6})(?![\w.]*\d)")
_PART = lazy(r"([A-Za-z][\w .()-]{0,60}?)\s{0,4}[:=]\s{0,4}[v\"']{0,2}(?=\d)")
_MOST = 200


def read_cudnn(lines: list[Line]) -> Iterator[Statement]:
    """`raised.cudnn-differs` where the loaded one cannot serve what was compiled: another major, or an older minor."""
    wanted: tuple[int, int] | None = None
    loaded: tuple[int, int] | None = None
    hits = 0
    for line in lines:
        if "cudnn" not in line.text.lower() or hits >= _MOST:
            continue
        hits += 1
        for words, version in _versions(line.text[:300]):
            if _LOADED.search(words) and not _WANTED.search(words):
                loaded = loaded or version
            elif _WANTED.search(words) and not _LOADED.search(words):
                wanted = wanted or version
            else:
                continue
            if wanted and loaded and (wanted[0] != loaded[0] or loaded[1] < wanted[1]):
                yield say("raised.cudnn-differs", True, line)
                return


def _versions(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The words before each version of a line: its key, and for the first one the line's own words too."""
    for part in _PART.finditer(text):
        version = _VERSION.match(text, part.end())
        if version and (read := _numbers(version[1])):
            yield part[1].lower().replace("_", " ").replace("cudnn version", "cudnn"), read


def _numbers(text: str) -> tuple[int, int] | None:
    """(8, 5) of `8.5.0`, `8500`; (9, 1) of `90100`."""
    if "." in text:
        major, minor = text.split(".")[:2]
        return int(major), int(minor)
    number = int(text)
    if number >= 90_000:
        return number // 10_000, number // 100 % 100
    return (number // 1000, number // 100 % 10) if 4000 <= number < 10_000 else None
