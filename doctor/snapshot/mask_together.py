"""Texts that are looked at as one, since most of them hold nothing to mask."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator

from .spans import Span, replaced

BETWEEN = "\n\n\n\n"
"""Between texts that are looked at as one: no value of a secret goes on over empty lines."""


def masked_together(texts: list[str], spans: Iterator[Span]) -> dict[str, str]:
    """Texts that were looked at as one, with their masks; those that need a look of their own are omitted."""
    starts: list[int] = []
    at = 0
    for text in texts:
        starts.append(at)
        at += len(text) + len(BETWEEN)
    touched: dict[int, list[Span]] = {}
    alone: set[int] = set()
    for span in spans:
        first, last = bisect(starts, span.start) - 1, bisect(starts, span.end - 1) - 1
        at = starts[first]
        touched.setdefault(first, []).append(Span(span.start - at, span.end - at, span.mask))
        if first != last or span.end > at + len(texts[first]):
            alone.update(range(first, last + 1))
        elif span.mask.startswith(("user-", "host-")) and not any(c in texts[first] for c in "/\\@ \t\n"):
            alone.add(first)  # a single word may be an identifier
    return {
        text: replaced(text, touched[number]) if number in touched else text
        for number, text in enumerate(texts)
        if number not in alone
    }
