"""Signs of the place that a text comes from: paths, prompts, variables and short phrases, in a table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import Any, NamedTuple

from ..formats.lazy import lazy
from .search import Haystack
from .statement import Line, Statement, say

_LOGS = (
    (
        "container.kind",
        "docker",
        lazy(
            r"^[a-z][\w.-]{1,60}[-_]\d{1,3} {1,16}\| .{0,160}?(?:ERROR|INFO|WARN|Error\b|Traceback|\d\d:\d\d:\d\d)",
            re.M,
        ),
    ),
    ("host.scheduler", "kubernetes", lazy(r"^\[pod/[\w.-]{1,120}/[\w.-]{1,120}\] ", re.M)),
)
"""What docker compose and kubectl put before the lines of a log; `clean` takes it off."""
_HEAD = 100_000


class Mark(NamedTuple):
    """`find`: lower-case texts one of which must stand in the line; `expression`: on that line; `unless`: not on it.

    `alone`: lower-case texts none of which may stand anywhere in the input.
    """

    path: str
    value: Any
    find: tuple[str, ...]
    expression: str
    unless: str
    alone: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The expression compiled, when it is needed."""
        return re.compile(self.expression, re.I) if self.expression else None


@lru_cache(maxsize=1)
def marks() -> tuple[Mark, ...]:
    """All rows, in the order of the file."""
    return tuple(
        Mark(
            row["path"],
            row["value"],
            tuple(row["find"]),
            row.get("pattern", ""),
            row.get("unless", ""),
            tuple(row.get("alone", ())),
        )
        for row in json.loads(get_data(__package__, "marks.json") or b"[]")
    )


def read_where(haystack: Haystack) -> Iterator[Statement]:
    """A weak statement for the first line that carries each mark: what is said in so many words comes first."""
    for mark in marks():
        lines = [
            line
            for line, _ in haystack.lines_with(mark.find, mark.expression)
            if not (mark.unless and re.search(mark.unless, line.text, re.I))
        ]
        if lines and not any(haystack.holds(word) for word in mark.alone):
            yield say(mark.path, mark.value, min(lines, key=lambda line: line.number), weak=True)


def read_log_origins(text: str) -> Iterator[Statement]:
    """The place that the words before a log's lines tell."""
    head = text[:_HEAD]
    for path, value, pattern in _LOGS:
        if ("| " in head or "[pod/" in head) and (found := pattern.search(head)):
            line = Line(head.count("\n", 0, found.start()) + 1, found[0])
            yield say(path, value, line, weak=True)
