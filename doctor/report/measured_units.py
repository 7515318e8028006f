"""Formatting of message sizes and times."""

from __future__ import annotations

from .amounts import amount, number


def size(count: float) -> str:
    """`2 KiB`, `64 MiB`."""
    return f"{number(count / (1 << 20))} MiB" if count >= 1 << 20 else f"{number(count / (1 << 10))} KiB"


def time_words(us: float) -> str:
    """`39 us`, `37 ms`."""
    return amount(us / 1e3, "ms") if us >= 1000 else amount(us, "us")
