"""Join lines that a terminal or mail has wrapped: messages are searched for in whole lines."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line

_MOST_LINES = 400
_WIDTHS = (60, 132)
"""A narrower text is taken for one of 60 columns, a wider line for one that nothing has broken."""
_LEAST = 40
_FILLED = 0.6
"""Of the width: a shorter line is none that goes on, unless it ends with a colon."""
_MOST_PARTS = 8
_BEGINS = lazy(
    r"\s{0,8}(?:[\w.]{1,60}(?:Error|Exception|Warning)\b|Traceback|File \"|[\[{#>|]|[*+-] |\d{4}-\d\d|\d\d:\d\d"
    r"|\d{1,2}/\d|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|CRITICAL)\b|[A-Z]{4,}:|[A-Z][\w .]{0,30}[:=] )"
)
"""A line that is none's continuation."""


def unwrapped(lines: list[Line]) -> Iterator[Line]:
    """Lines that a terminal or mail has broken at its width, as one."""
    rows = list(_as_written(lines))
    widest = max((len(row.text) for row in rows if len(row.text) <= _WIDTHS[1]), default=0)
    if widest < _LEAST or len(lines) > _MOST_LINES:
        return
    width = max(widest, _WIDTHS[0])
    chain: list[Line] = []
    for line in [*rows, Line(0, "")]:
        if chain:
            last, text = chain[-1], line.text.strip()
            space = width - len(last.text)
            word = text.split(" ", 1)[0]
            full = line.number - last.number == 1 and 0 <= space <= len(word)
            goes_on = last.text.endswith(":") or (len(last.text) >= _FILLED * width and last.text[-1] not in "]}|;")
            if full and goes_on and len(chain) < _MOST_PARTS and not _BEGINS.match(line.text):
                chain.append(line)
                continue
            if len(chain) > 1:
                yield Line(chain[0].number, _as_one(chain, widest))
                yield Line(chain[0].number, " ".join(row.text.strip() for row in chain))
        chain = [line]


def _as_written(lines: list[Line]) -> Iterator[Line]:
    """The lines of the text, without those that `clean` adds behind them in another form."""
    last = 0
    for line in lines:
        if line.number > last:
            last = line.number
            yield line


def _as_one(chain: list[Line], widest: int) -> str:
    """Without a blank where a line of the full width goes on in the middle of a word."""
    whole = ""
    for row, after in zip(chain, [*chain[1:], Line(0, "")], strict=True):
        apart = len(row.text) < widest or after.text[:1] == " "
        whole += row.text.strip() + " " * apart
    return whole.strip()
