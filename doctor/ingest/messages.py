"""The error catalogue: messages to what they prove, decide and suggest. All patterns are data, each bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import Any, NamedTuple

from . import values
from .statement import Line, Statement
from .words import Words

_MOST_HITS = 12
"""Hits of one entry that are looked at: a log repeats its errors."""

_LONG_LOG = 5000
"""Distinct lines."""
_MOST_TRIES = 500
"""Lines with the text of an entry that are looked at: some words stand in every line of a log."""


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
    command: str
    where: str
    source: str
    limit: str

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The expression compiled, when it is needed: a text needs few of them."""
        return re.compile(self.expression, re.I) if self.expression else None


class Hit(NamedTuple):
    """A message found in a line, with what its pattern took out."""

    message: Message
    line: Line
    groups: tuple[str, ...]


@lru_cache(maxsize=1)
def catalogue() -> tuple[Message, ...]:
    """All entries, in the order of the file."""
    rows = []
    for row in json.loads(get_data(__package__, "messages.json") or b"[]"):
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
            )
        )
    return tuple(rows)


def find_hits(lines: list[Line], words: Words) -> list[Hit]:
    """Every entry's first hits, in the order of the text; of equal lines the first counts."""
    wanted = [(message, [needle for needle in message.find if words.may_hold(needle)]) for message in catalogue()]
    wanted = [(message, needles) for message, needles in wanted if needles]
    if not wanted:
        return []
    lines = _distinct(lines)
    rows = [line.text.lower() for line in lines]
    text, starts = "\n".join(rows), _starts(rows)
    found: list[Hit] = []
    for message, needles in wanted:
        seen: set[int] = set()
        for needle in needles:
            at = text.find(needle)
            tries = 0
            while at >= 0 and len(seen) < _MOST_HITS and tries < _MOST_TRIES:
                tries += 1
                index = _line_at(starts, at)
                end = starts[index + 1] if index + 1 < len(starts) else len(text) + 1
                if index not in seen and (hit := _match(message, lines[index])):
                    seen.add(index)
                    found.append(hit)
                at = text.find(needle, max(end - 1, at + 1))
    return sorted(found, key=lambda hit: hit.line.number)


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
        shape = text if "xid" in text or "Xid" in text or "rror" in text else text.translate(digits)
        shapes.setdefault(shape, line)
    return list(shapes.values())


def _starts(rows: list[str]) -> list[int]:
    starts, at = [], 0
    for row in rows:
        starts.append(at)
        at += len(row) + 1
    return starts


def _line_at(starts: list[int], at: int) -> int:
    from bisect import bisect_right

    return bisect_right(starts, at) - 1


def _match(message: Message, line: Line) -> Hit | None:
    pattern = message.pattern
    if pattern is None:
        return Hit(message, line, ())
    found = pattern.search(line.text)
    if not found:
        return None
    groups = tuple(group or "" for group in found.groups())
    return Hit(message, line, groups) if _compare(message.limit, groups) else None


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
        return len(numbers) >= 2 and numbers[0] > 0 and numbers[1] / numbers[0] >= 0.8
    if how == "most-held-elsewhere":  # total GiB, allocated MiB, free MiB
        return (
            len(numbers) >= 3
            and numbers[0] * 1024 > 0
            and (numbers[0] * 1024 - numbers[1] - numbers[2]) > 0.6 * numbers[0] * 1024
        )
    if how == "most-held-elsewhere-units" and len(groups) >= 6:
        try:
            total, free, own = (float(groups[i]) * _UNITS.get(groups[i + 1].lower(), 0.0) for i in (0, 2, 4))
        except ValueError:
            return False
        return total > 0 and total - free - own > 0.6 * total
    return False


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

    return cuda_from_int(int(text)) if text.isdigit() and len(text) < 7 else None


_CONVERT: dict[str, Callable[[str], Any]] = {
    "cuda-int": _cuda_int, "archs": values.archs, "driver": values.driver, "cuda": values.cuda, "int": values.number,
    "capability": values.capability,
    "": str,
}  # fmt: skip
