"""The error catalogue: messages to what they prove, decide and suggest. All patterns are data, each bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pkgutil import get_data
from typing import Any, NamedTuple

from . import values
from .search import Haystack
from .statement import Line, Statement

_MOST_HITS = 12
"""Hits of one entry that are looked at: a log repeats its errors."""


class Message(NamedTuple):
    """One entry. `find`: lower-case texts one of which must stand in the line; `expression`: on that line."""

    id: str
    find: tuple[str, ...]
    expression: str
    proves: dict[str, Any]
    decides: tuple[tuple[str, dict[str, Any]], ...]
    suggests: tuple[str, ...]
    means: str
    fix: str
    typed: str | list[Any]
    """The command as text, or its parts: texts, and requests that the one module of install lines renders."""
    where: str
    source: str
    limit: str
    words: bool = False
    """People's words: `dockerfile_installs` is read as `dockerfile installs`."""
    hints: tuple[tuple[str, dict[str, Any]], ...] = ()
    """What it suggests, beside the other words of the text."""
    mention: bool = False
    """It speaks of a thing and does not say that it fails."""

    @property
    def command(self) -> str:
        """Exact command or lines; '' where there is nothing to type."""
        if isinstance(self.typed, str):
            return self.typed
        from ..fixes.install_parts import line

        return line(self.typed)

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The expression compiled, when it is needed: a text needs few of them."""
        return re.compile(self.expression, re.I) if self.expression else None


class Hit(NamedTuple):
    """A message found in a line, with what its pattern took out."""

    message: Message
    line: Line
    groups: tuple[str, ...]


def _rows(file: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(get_data(__package__, file) or b"[]")
    return rows


@lru_cache(maxsize=1)
def catalogue() -> tuple[Message, ...]:
    """All entries, in the order of the files: what programs print, tool by tool, then what people tell."""
    rows = []
    printed = [row for file in ("messages.json", "tools.json") for row in _rows(file)]
    told = _rows("told.json")
    for row in [*printed, *told]:
        find = row["find"]
        decides = row.get("decides", [])
        rows.append(
            Message(
                row["id"],
                tuple([find] if isinstance(find, str) else find),
                row.get("pattern", ""),
                row.get("proves", {}),
                ((decides, {}),)
                if isinstance(decides, str)
                else tuple((d["check"], d.get("when", {})) for d in decides),
                tuple(row.get("suggests", ())),
                row["means"],
                row.get("fix", ""),
                row.get("command", ""),
                row.get("where", "host"),
                row.get("source", ""),
                row.get("compare", ""),
                row in told,
                tuple((d["check"], d["when"]) for d in row.get("hints", ())),
                row.get("mention", False),
            )
        )
    return tuple(rows)


def find_hits(haystack: Haystack) -> list[Hit]:
    """Every entry's first hits, in the order of the text; of equal lines the first counts."""
    found: list[Hit] = []
    for message in catalogue():
        hits = (
            Hit(message, line, groups)
            for line, groups in haystack.lines_with(message.find, message.expression, message.words)
            if _compare(message.limit, groups)
        )
        found += islice(hits, _MOST_HITS)
    return sorted(found, key=lambda hit: hit.line.number)


def _compare(how: str, groups: tuple[str, ...]) -> bool:
    """Conditions on numbers that a pattern cannot say."""
    if not how:
        return True
    try:
        numbers = [float(group) for group in groups]
    except ValueError:
        numbers = []
    if how == "differ":
        return len(groups) >= 2 and groups[0] != groups[1]
    if how == "second-over-0.8-of-first":
        return len(numbers) >= 2 and numbers[0] > 0 and 0.8 <= numbers[1] / numbers[0] <= 1
    if how == "most-of-second":
        return len(numbers) >= 2 and numbers[1] > 1 and 0.5 <= numbers[0] / numbers[1] <= 1
    if how == "first-less":
        return len(numbers) >= 2 and numbers[0] < numbers[1]
    if how == "lanes-below":
        return len(numbers) >= 2 and numbers[0] < numbers[1] and {*numbers[:2]} <= _LANES
    if how == "most-held-elsewhere":  # total GiB, allocated MiB, free MiB
        return (
            len(numbers) >= 3
            and numbers[0] * 1024 > 0
            and (numbers[0] * 1024 - numbers[1] - numbers[2]) > 0.6 * numbers[0] * 1024
        )
    if how == "most-held-here" and len(groups) >= 4:
        try:
            total, own = (float(groups[i]) * _UNITS.get(groups[i + 1].lower(), 0.0) for i in (0, 2))
        except ValueError:
            return False
        return total > 0 and own > 0.5 * total
    if how == "most-held-elsewhere-units" and len(groups) >= 6:
        try:
            total, free, own = (float(groups[i]) * _UNITS.get(groups[i + 1].lower(), 0.0) for i in (0, 2, 4))
        except ValueError:
            return False
        return total > 0 and total - free - own > 0.6 * total
    return False


_LANES = {1.0, 2.0, 4.0, 8.0, 16.0}
_UNITS = {"gib": 1024.0, "mib": 1.0}


def proven(hits: list[Hit]) -> Iterator[Statement]:
    """The facts of the Snapshot that the messages prove."""
    for hit in hits:
        for path, value in hit.message.proves.items():
            if isinstance(value, str) and value.startswith("$"):
                group, _, kind = value[1:].partition(":")
                text = hit.groups[int(group) - 1]
                value = _CONVERT[kind](text)
                if value is None or value == ():
                    continue
            yield Statement(
                path, value, hit.line.number, hit.line.text.strip()[:200], path != "torch_run.first_call_code"
            )


def _cuda_int(text: str) -> str | None:
    from ..formats.versions import cuda_from_int

    return cuda_from_int(int(text)) if text.isdecimal() and len(text) < 7 else None


_CONVERT: dict[str, Callable[[str], Any]] = {
    "cuda-int": _cuda_int, "archs": values.archs, "driver": values.driver, "cuda": values.cuda, "int": values.number,
    "capability": values.capability,
    "": str,
}  # fmt: skip
