"""Bars of characters: filled to an eighth of a column, or stacked from shades; `clean.ascii_only` knows them."""

from __future__ import annotations

from collections.abc import Sequence

SHADES = ("█", "▓", "▒", "░", "▚", "▞")
"""Parts of a stacked bar, distinguished without color."""
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_FULL, _REST = "█", "─"


def bar(share: float, columns: int) -> tuple[str, str]:
    """The filled part and the rest of a bar of `columns`; `share` is cut to 0..1, and what is not nothing shows."""
    eighths = round(min(1.0, max(0.0, share)) * columns * 8)
    if share > 0 and columns > 0:
        eighths = max(1, eighths)
    filled = _FULL * (eighths // 8) + _EIGHTHS[eighths % 8]
    return filled, _REST * (columns - len(filled))


def stacked(parts: Sequence[float], columns: int) -> str:
    """Parts side by side in their shades, `columns` wide together, each by the method of the largest remainder.

    A part that is not nothing has a column of its own as long as there are enough. At most six parts are distinguished.
    """
    cleaned = [max(0.0, part) for part in parts]
    whole = sum(cleaned)
    if whole <= 0 or columns <= 0:
        return ""
    exact = [part / whole * columns for part in cleaned]
    widths = [int(e) for e in exact]
    for index in sorted(range(len(exact)), key=lambda i: widths[i] - exact[i])[: columns - sum(widths)]:
        widths[index] += 1
    for index, width in enumerate(widths):
        widest = max(range(len(widths)), key=widths.__getitem__)
        if not width and cleaned[index] and widths[widest] > 1:
            widths[index] += 1
            widths[widest] -= 1
    return "".join(SHADES[i % len(SHADES)] * width for i, width in enumerate(widths))
