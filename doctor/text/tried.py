"""What a text shows as tried: commands at a prompt or in people's words, and variables that are set.

A fix that was tried while the text still complains does not come first again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ..findings import Fix
from ..fixes.tried import NOTE, is_tried, plain
from ..formats.lazy import lazy
from ..snapshot import Snapshot
from .statement import Line

_PROMPT = lazy(r"^\s{0,8}[\w.@:~/\-\[\]() ]{0,80}[$#❯➜%]\s\s{0,4}(?=[a-z./])")
_PROSE = lazy(
    r"\b(?:already|I|we|I've|I have|after|tried(?: to)?|by|have) (?:already |also |then )?(?:ran|run|running|tried|did"
    r"|doing|executed|executing|used|using|re-?installed|re-?installing|rebooted|rebooting|restarted|purged|set)\b"
    r".{0,200}",
    re.I,
)
_NOT_YET = lazy(r"(?i)\b(?:haven't|have not|didn't|did not|not yet|should I|can I|do I|how (?:do|to)|will try|don't)\b")
_REBOOTED = lazy(
    r"(?i)\b(?:re-?booted|restarted (?:the )?(?:machine|computer|server|host|pc|node)|after (?:a |the )?reboot)\b"
)
_SIGNS = ("$ ", "# ", "% ", "❯ ", "➜ ")
_PEOPLE = ("i ", "we ", "'ve ", "have ", "already ", "after ", "tried ", "by ")
_BOOTS = ("boot", "restarted")
"""One of them stands in each line that the patterns take, and in few lines of a log: they cost a tenth."""
_MOST, _LONGEST, _MOST_LINES = 40, 300, 2000


def commands_tried(lines: Iterable[Line]) -> tuple[str, ...]:
    """The commands that the lines show as carried out, as `plain` writes them; `reboot` for a machine that was."""
    found: dict[str, None] = {}
    for line in list(lines)[:_MOST_LINES]:
        for text in _in_line(line.text[:_LONGEST]):
            found.setdefault(text)
        if len(found) >= _MOST:
            break
    return tuple(found)


def _in_line(text: str) -> Iterator[str]:
    low = text.lower()
    boots = any(word in low for word in _BOOTS)
    if any(sign in text for sign in _SIGNS) and (at_prompt := _PROMPT.match(text)):
        yield plain(text[at_prompt.end() :])
    elif not (boots or any(word in low for word in _PEOPLE)) or _NOT_YET.search(text):
        return
    elif in_prose := _PROSE.search(text):
        yield plain(in_prose[0])
    if boots and _REBOOTED.search(text):
        yield "reboot"


def tried_last(fixes: Iterable[Fix], s: Snapshot) -> tuple[Fix, ...]:
    """The fixes, those that the user can carry out first, and of these the tried ones last; a tried one says so."""
    rows = [(fix, is_tried(fix, s)) for fix in fixes]
    rows.sort(key=lambda row: (not row[0].possible_here, row[1]))
    return tuple(
        replace(fix, note="\n".join(filter(None, (fix.note, NOTE)))) if tried and NOTE not in fix.note else fix
        for fix, tried in rows
    )
