"""Join lines that a terminal or mail has wrapped: messages are searched for in whole lines."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line

_MOST_LINES = 400
_WIDTHS = (60, 132)
_MOST_PARTS = 8
_BEGINS = lazy(
    r"\s{0,8}(?:[\w.]{1,60}(?:Error|Exception|Warning)\b|Traceback|File \"|[\[{(#>|*+-]|\d{1,4}[-:/.]\d|[A-Z]{4,}\b:?"
    r"|[A-Za-z][\w .]{0,30}[:=] )"
)
"""A line that is none's continuation."""


def unwrapped(lines: list[Line]) -> Iterator[Line]:
    """Lines that a terminal or mail has broken at its width, as one."""
    widest = max((len(line.text) for line in lines if len(line.text) <= _WIDTHS[1]), default=0)
    if widest < _WIDTHS[0] or len(lines) > _MOST_LINES:
        return
    chain: list[Line] = []
    for line in [*lines, Line(0, "")]:
        if chain:
            last, text = chain[-1], line.text.strip()
            space = widest - len(last.text)
            word = text.split(" ", 1)[0]
            full = line.number - last.number == 1 and 0 <= space <= len(word) and len(last.text) >= 48
            if full and len(chain) < _MOST_PARTS and not _BEGINS.match(line.text):
                chain.append(line)
                continue
            if len(chain) > 1:
                yield Line(
                    chain[0].number,
                    "".join(row.text.strip() + ("" if len(row.text) == widest else " ") for row in chain).strip(),
                )
                yield Line(chain[0].number, " ".join(row.text.strip() for row in chain))
        chain = [line]
