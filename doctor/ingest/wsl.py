"""Words that say that a text comes from WSL, and from which: `Ubuntu in WSL2`, `WSL version: 2.4.13.0`, `[x] WSL 2`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .statement import Line, Statement, say

_NUMBER = re.compile(r"\bwsl[ -]?([12])\b(?![.\d])", re.I)
_PACKAGE = re.compile(r"\bwsl\b[^\d\n]{0,24}[0-9]\.\d{1,2}\.\d{1,3}", re.I)
_NAME = re.compile(r"\bWSL\b|\b(?:windows )?subsystem for linux\b|\bwsl(?:[ _]version|[ _]distro|\.exe)?\s?[:=]", re.I)
_ELSEWHERE = re.compile(
    r"\b(?:no|not|non|without|isn't|never|native|instead of|than|outside|if|whether|unless|either|unlike|also|same)\b"
    r".{0,40}\bwsl|\bwsl ?2?\b\W{0,4}(?:no|not|false|0|none|n/a|off)\b|\[ ?\]|\bwsl ?[12] (?:or|and|/) "
    r"|/wsl[/\w-]|wsl[-_]\w|\?\s*$",
    re.I,
)
"""WSL is asked about, denied, compared with, or part of an address."""
_MOST_LINES = 400


def read_wsl(lines: list[Line]) -> Iterator[Statement]:
    """Weak statements: a kernel's name and what is said under a key of its own come first."""
    found: set[int] = set()
    named: Line | None = None
    for line in lines:
        text = line.text[:400]
        if ("wsl" not in text.lower() and "ubsystem" not in text) or _ELSEWHERE.search(text):
            continue
        if (number := _NUMBER.search(text)) and int(number[1]) not in found:
            found.add(int(number[1]))
            yield say("host.wsl", int(number[1]), line, weak=True)
        elif _PACKAGE.search(text) or (len(lines) <= _MOST_LINES and _NAME.search(text)):
            named = named or line
    if named and not found:
        yield say("host.wsl", 2, named, weak=True)
