"""Windows' list of graphics cards: `wmic path win32_VideoController get name`, `Get-CimInstance ...`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_QUERY = lazy(r"win32_videocontroller\b(?:[^:\n]{0,80}:\s{0,4}(\S.{0,100}))?", re.I)
_OTHER = lazy(
    r"\s{0,8}(?:(?:name|caption|description)\s{0,20}[:=]\s{0,4})?"
    r"((?:Intel\(R\)|AMD|ATI|Radeon|Qualcomm\(R\))[^|]{0,60}?\b(?:Graphics|Radeon|Arc|Adreno|Iris)\b[^|]{0,40})$",
    re.I,
)
_HEAD = lazy(r"\s{0,8}(?:name|caption|description|-{2,40})\s{0,20}$", re.I)
_NVIDIA = lazy(r"\b(?:GeForce|Quadro|Tesla|NVIDIA (?:RTX|[A-Z]\d|TITAN|Graphics))|Microsoft Basic", re.I)
"""The last may be any board whose driver is missing."""
_MOST_LINES = 12


def read_controllers(lines: list[Line]) -> Iterator[Statement]:
    """Boards of other makers, where the list has nothing else: Windows lists every board, also without its driver."""
    for at, line in enumerate(lines):
        if "ideo" not in line.text or not (query := _QUERY.search(line.text)):
            continue
        boards = [(query[1], line)] if query[1] else list(_below(lines[at + 1 : at + 1 + _MOST_LINES]))
        found = [(match, row) for text, row in boards if (match := _OTHER.match(text))]
        if len(found) == len(boards):
            for match, row in found:
                fields = {"index": None, "name": match[1].strip(), "count": 1, "vendor": "other"}
                yield say("gpu", fields, row)


def _below(lines: list[Line]) -> Iterator[tuple[str, Line]]:
    """The names under the question, to the first line that is none; one of NVIDIA anywhere near counts too."""
    inside = True
    for line in lines:
        if _HEAD.match(line.text):
            continue
        inside = inside and bool(_OTHER.match(line.text))
        if inside or _NVIDIA.search(line.text):
            yield line.text, line
