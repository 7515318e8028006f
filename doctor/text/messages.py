"""The message catalogue: what each message proves, decides and suggests. Built from catalogue/*.toml.

catalogue.json, which `training/catalogue.py` builds: how many there are, a line for each with what finds it, then those
lines that are parsed when they are needed, since a text holds few of them: for each what it decides, then for each of
SENTENCES its text (like beside like packs better).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pkgutil import get_data
from typing import Any, NamedTuple

from . import values
from .compare import agrees
from .search import Haystack
from .statement import Line, Statement

FILE = "catalogue.json"
SENTENCES = ("means", "fix", "source")
_MOST_HITS = 12
"""Hits of one entry that are looked at: a log repeats its errors."""


class Entry(NamedTuple):
    """What finds a message. `find`: lower-case texts, one of which is in the line; `expression`: on that line."""

    id: str
    find: tuple[str, ...]
    expression: str
    limit: str
    words: bool
    """People's words: `dockerfile_installs` is read as `dockerfile installs`."""
    number: int
    """Its place in the file."""


class Message(NamedTuple):
    """One message, with all that is known of it."""

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
    words: bool
    hints: tuple[tuple[str, dict[str, Any]], ...]
    """What it suggests, beside the other words of the text."""
    mention: bool
    """It speaks of a thing and does not say that it fails."""
    people: bool
    """People say it, not a program."""
    happened: bool
    """It shows that what a check only warns of has happened."""
    exact: bool
    """Its own fix is more exact than the check's."""
    warns: bool
    """What it decides is a warning."""

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


@lru_cache(maxsize=1)
def _file() -> tuple[tuple[Entry, ...], tuple[tuple[str, ...], ...]]:
    rows = (get_data(__package__, FILE) or b"0").decode().split("\n")
    count = int(rows[0])
    listed = json.loads(f"[{','.join(rows[1 : count + 1])}]")
    entries = [Entry(r[0], tuple(r[1]), r[2], r[3], r[4], number) for number, r in enumerate(listed)]
    blocks = (rows[start : start + count] for start in range(count + 1, len(rows) - count, count))
    return tuple(entries), tuple(zip(*blocks, strict=True))


@lru_cache(maxsize=2048)
def _message(entry: Entry) -> Message:
    body, *sentences = map(json.loads, _file()[1][entry.number])
    row = body | dict(zip(SENTENCES, sentences, strict=True))
    return Message(
        entry.id,
        entry.find,
        entry.expression,
        row.get("proves", {}),
        tuple((check, when) for check, when in row.get("decides", ())),
        tuple(row.get("suggests", ())),
        row["means"],
        row["fix"],
        row.get("command", ""),
        row.get("where", "host"),
        row["source"],
        entry.limit,
        entry.words,
        tuple((check, when) for check, when in row.get("hints", ())),
        row.get("mention", False),
        entry.words or row.get("people", False),
        row.get("happened", False),
        row.get("exact", False),
        row.get("warns", False),
    )


def catalogue() -> tuple[Message, ...]:
    """All messages, in the order of the file."""
    return tuple(_message(entry) for entry in _file()[0])


def worded_by_people(ids: Collection[str]) -> frozenset[str]:
    """Those of these messages that are worded as people say it, not as a program prints it."""
    return frozenset(entry.id for entry in _file()[0] if entry.id in ids and _message(entry).people)


def find_hits(haystack: Haystack, spoken: Haystack | None = None, joined: Collection[Line] = frozenset()) -> list[Hit]:
    """Every entry's first hits, in the order of the text; of equal lines the first counts.

    `spoken`: where people's words are looked for, if not everywhere. `joined`: lines of the haystack that several of
    the text may be; what one of these says by itself is found there.
    """
    found: list[Hit] = []
    for entry in _file()[0]:
        hits = (
            Hit(_message(entry), line, groups)
            for line, groups in (spoken or haystack if entry.words else haystack).lines_with(
                entry.find, entry.expression, entry.words
            )
            if agrees(entry.limit, groups)
        )
        first = list(islice(hits, _MOST_HITS))
        alone = [hit for hit in first if hit.line not in joined] if joined else []
        found += [hit for hit in first if not (hit.line in joined and _says_it(alone, hit))] if alone else first
    return sorted(found, key=lambda hit: hit.line.number)


def _says_it(alone: Iterable[Hit], whole: Hit) -> bool:
    return any(hit.groups == whole.groups and hit.line.text.strip() in whole.line.text for hit in alone)


def proven(hits: list[Hit]) -> Iterator[Statement]:
    """The facts of the Snapshot that the messages prove."""
    for hit in hits:
        for path, value in hit.message.proves.items():
            if isinstance(value, str) and value.startswith("$"):
                group, _, kind = value[1:].partition(":")
                text = hit.groups[int(group) - 1]
                value = CONVERT[kind](text)
                if value is None or value == ():
                    continue
            yield Statement(
                path, value, hit.line.number, hit.line.text.strip()[:200], path != "torch_run.first_call_code"
            )


def _cuda_int(text: str) -> str | None:
    from ..formats.versions import cuda_from_int

    return cuda_from_int(int(text)) if text.isdecimal() and len(text) < 7 else None


CONVERT: dict[str, Callable[[str], Any]] = {
    "cuda-int": _cuda_int, "archs": values.archs, "driver": values.driver, "cuda": values.cuda, "int": values.number,
    "capability": values.capability,
    "": str,
}  # fmt: skip
"""What a group's text becomes: `$1:cuda`."""
