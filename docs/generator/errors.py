"""The index by error text: what tools print, and the checks that such a line decides or allows."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from doctor.text.cause_pages import load_causes
from doctor.text.text import heard

from .links import to_file
from .words import code, mark

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CATALOGUE = Path(__file__).parents[2] / "doctor" / "text" / "catalogue"
INTRODUCTION = """\
What tools print, by tool, and what it can come from. A line allows more than it proves: give the whole text to
`gpudoctor explain`, which reads the versions and GPUs in it too. A cause in parentheses needs more than this line,
which may be harmless by itself: other lines of the text, or what they tell of the machine, have to confirm it."""
_LEFT_OUT = ("people", "topics")
"""Words of people, and topics: no text that somebody would search for."""


class Row(NamedTuple):
    """A line of a tool, and what it can come from."""

    text: str
    """The line that the message is found in, whole."""
    causes: tuple[str, ...]
    """Ids that `explain` names for the line alone."""
    with_more: tuple[str, ...] = ()
    """Ids that take other lines too."""


def pages() -> dict[str, str]:
    """Path to text."""
    parts = [
        mark("doctor/text/catalogue/*.toml"),
        "# By error text",
        INTRODUCTION,
    ]
    for tool, found in rows():
        written = [f"| {code(row.text)} | {', '.join(_links(row))} |" for row in found]
        parts += [f"## {tool}", "\n".join(["| the text | what it can come from |", "| --- | --- |", *written])]
    return {"errors.md": "\n\n".join(parts) + "\n"}


def rows() -> Iterator[tuple[str, list[Row]]]:
    """Of each tool its lines, each once, in the order of its file."""
    for path in sorted(CATALOGUE.glob("*.toml")):
        if path.stem in _LEFT_OUT:
            continue
        found: dict[str, Row] = {}
        for message in tomllib.loads(path.read_text("utf-8")).values():
            if row := _row(message):
                found[row.text] = _joined(found[row.text], row) if row.text in found else row
        if found:
            yield path.stem, [_with_what_it_decides(row) for row in found.values()]


def _with_what_it_decides(row: Row) -> Row:
    """The row, with what `explain` of the line decides or allows: other messages stand in the same line, and it may
    say itself what a condition asks for (a container, WSL, a missing library)."""
    complaints = [one for one in heard(row.text)[0].symptoms if not one.mention]
    decided = [one.decides for one in complaints if one.decides]
    allowed = [] if decided else [name for one in complaints for name in one.suggests if name not in row.with_more]
    return row._replace(causes=_causes([*decided, *row.causes, *allowed]))


def _row(message: dict[str, Any]) -> Row | None:
    proves = message.get("decides", ())
    proves = [proves] if isinstance(proves, str) else proves
    decides = [{"check": one} if isinstance(one, str) else one for one in proves]
    mention = message.get("mention", False)
    alone = [one["check"] for one in decides if not _asks_for_more(one.get("when", {}), mention)]
    suggests = list(message.get("suggests", ()))
    conditional = [one["check"] for one in decides if _asks_for_more(one.get("when", {}), mention)]
    if mention:  # it does not say that anything fails
        suggests, conditional = [], [*conditional, *suggests]
    row = Row(_line(message), _causes([*alone, *suggests]), _causes(conditional))
    return row if row.text and (row.causes or row.with_more) else None


def _asks_for_more(when: dict[str, Any], mention: bool) -> bool:
    """Whether a condition takes more than this line: one that only asks that something is absent is met by it alone,
    if the line says that anything fails."""
    if mention and when:
        return True
    absent = (key == "none" or key.endswith(" not-now") or value is False for key, value in when.items())
    return not all(absent)


def _causes(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name != "healthy"))


def _line(message: dict[str, Any]) -> str:
    """The line of the first sample that the message is found in; all of them where it takes several."""
    said = message.get("says")
    if not said:
        return ""
    text = said[0] if isinstance(said[0], str) else said[0][0]
    pattern = re.compile("".join(part.strip() for part in message.get("pattern", "").split("\n")), re.I)
    found = message.get("find", [""])
    lines = [form for line in text.splitlines() if line.strip() for form in (line.strip(), line.rstrip())]
    hit = (line for line in lines if any(part in line.lower() for part in found) and pattern.search(line))
    return next(hit, " ".join(text.split()))


def _joined(one: Row, other: Row) -> Row:
    return Row(one.text, _causes([*one.causes, *other.causes]), _causes([*one.with_more, *other.with_more]))


def _links(row: Row) -> list[str]:
    causes = {one.id for one in load_causes()}
    more = [name for name in row.with_more if name not in row.causes]
    return [
        *(to_file(name, causes) for name in row.causes),
        *(f"({to_file(name, causes)})" for name in more),
    ]
