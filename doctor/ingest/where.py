"""Marks of the place that a text comes from: paths, prompts, variables and short phrases, as a table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import Any, NamedTuple

from .statement import Line, Statement, say

_MOST_LINES = 8
"""Lines with a mark's text that are looked at: what does not stand among the first says nothing of the place."""


class Mark(NamedTuple):
    """`find`: lower-case texts one of which must stand in the line; `pattern`: on that line; `unless`: not on it.

    `alone`: lower-case texts none of which may stand anywhere in the input.
    """

    path: str
    value: Any
    find: tuple[str, ...]
    pattern: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    alone: tuple[str, ...]


@lru_cache(maxsize=1)
def marks() -> tuple[Mark, ...]:
    """All rows, in the order of the file."""
    return tuple(
        Mark(
            row["path"], row["value"], tuple(row["find"]),
            re.compile(row["pattern"], re.I) if "pattern" in row else None,
            re.compile(row["unless"], re.I) if "unless" in row else None,
            tuple(row.get("alone", ())),
        )
        for row in json.loads(get_data(__package__, "marks.json") or b"[]")
    )  # fmt: skip


def read_where(lines: list[Line]) -> Iterator[Statement]:
    """A weak statement for the first line that carries each mark: what is said in so many words comes first."""
    text = "\n".join(line.text for line in lines).lower()
    for mark in marks():
        if any(word in text for word in mark.alone):
            continue
        line = _first(mark, lines, text)
        if line is not None:
            yield say(mark.path, mark.value, line, weak=True)


def _first(mark: Mark, lines: list[Line], text: str) -> Line | None:
    found: set[int] = set()
    for needle in mark.find:
        at, count = text.find(needle), 0
        while at >= 0 and count < _MOST_LINES:
            index = text.count("\n", 0, at)
            if _carries(mark, lines[index].text):
                found.add(index)
                break
            count += 1
            end = text.find("\n", at)
            at = text.find(needle, end) if end >= 0 else -1
    return lines[min(found)] if found else None


def _carries(mark: Mark, text: str) -> bool:
    if mark.pattern is not None and not mark.pattern.search(text):
        return False
    return mark.unless is None or not mark.unless.search(text)
