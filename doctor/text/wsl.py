"""Words that show that a text comes from WSL, and which one: `Ubuntu in WSL2`, `WSL version: 2.4.13.0`, `[x] WSL 2`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .grammar.words import not_here
from .statement import Line, Statement, say

_NUMBER = lazy(r"\bwsl[ -]?([12])\b(?![.\d])", re.I)
_PACKAGE = lazy(r"\bwsl\b[^\d\n]{0,24}[0-9]\.\d{1,2}\.\d{1,3}", re.I)
_NAME = lazy(r"\bWSL\b|\b(?:windows )?subsystem for linux\b|\bwsl(?:[ _]version|[ _]distro|\.exe)?\s?[:=]", re.I)
_ELSEWHERE = lazy(
    not_here("denied", "compared", "elsewhere", "supposed", then=r".{0,40}\bwsl").pattern
    + r"|\b(?:native|outside|either)\b.{0,40}\bwsl|\bwsl ?[12] (?:or|and|/) |/wsl[/\w-]|wsl[-_]\w|\?\s*$"
    + r"|\bwsl ?2?\b\W{0,4}(?:no(?! (?:devices|cuda|gpus?|nvidia|such)\b)|not|false|0|none|n/a|off)\b|\[ ?\]"
    + r"|\bwsl ?2?\b\W{0,4}native[ _]?linux\b",
    re.I,
)
"""WSL is asked about, denied, compared with, or part of an address."""
_MOST_LINES = 400
_TABLE = lazy(r"\s{0,8}NAME\s{1,80}STATE\s{1,40}VERSION\s{0,4}$")
_ROW = lazy(r"(\s{0,4})(\S{1,80})\s{1,80}(?:Running|Stopped|Installing)\s{1,40}([12])\s{0,4}$")


def read_wsl(lines: list[Line]) -> Iterator[Statement]:
    """Weak statements: a kernel's name and what is said under a key of its own come first."""
    found: set[int] = set()
    named: Line | None = None
    for version, line in _listed(lines):
        found.add(version)
        yield say("host.wsl", version, line, weak=True)
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


def read_wsl_list(lines: list[Line]) -> Iterator[Statement]:
    """The list of a text that does not name WSL."""
    for version, line in _listed(lines):
        yield say("host.wsl", version, line, weak=True)


def _listed(lines: list[Line]) -> Iterator[tuple[int, Line]]:
    """The version of `wsl -l -v`, at its line, where all distributions of the list have one, or its star tells which.

    The star is gone (`clean` takes bullets off), and with it the blanks before the name: the other rows keep theirs.
    """
    rows: list[tuple[str, int, Line]] = []
    inside = indented = False
    for line in lines:
        if line.text.rstrip().endswith("VERSION") and _TABLE.match(line.text):
            inside, indented = True, line.text.startswith(" ")
        elif inside and (row := _ROW.match(line.text)):
            if not row[2].startswith(("docker-desktop", "rancher-desktop", "podman-machine")):
                rows.append((row[1], int(row[3]), line))
        else:
            inside = False
    starred = [row for row in rows if not row[0]] if indented or any(row[0] for row in rows) else []
    chosen = starred or rows
    if len({version for _, version, _ in chosen}) == 1:
        yield chosen[0][1], chosen[0][2]
