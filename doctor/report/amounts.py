"""Formatting of measured numbers: three significant digits, thousands with commas, with units."""

from __future__ import annotations

from ..snapshot import Missing


def number(value: float) -> str:
    """`1,312`, `742`, `51.3`, `4.41`, `0.112`, `2.1e-07`; whole numbers keep all their digits."""
    size = abs(value)
    if size >= 1e15:
        return f"{value:.2e}"
    if size >= 100 or size == int(size):
        return f"{value:,.0f}"
    if size >= 0.001:
        return f"{value:.3g}"
    return f"{value:.1e}"


def amount(value: float | Missing, unit: str) -> str:
    """`742 TFLOP/s`, or an empty string where it is not known."""
    return "" if isinstance(value, Missing) else f"{number(value)} {unit}"


def percent(value: float | Missing) -> str:
    """`76 %`; below one percent with a digit more; an empty string where it is not known."""
    if isinstance(value, Missing):
        return ""
    return f"{value:.1f} %" if 0 < abs(value) < 0.95 else f"{value:.0f} %"


def memory(mib: float | Missing) -> str:
    """`478 MiB`, `20.5 GiB`; an empty string where it is not known."""
    if isinstance(mib, Missing):
        return ""
    return f"{number(mib / 1024)} GiB" if mib >= 10 * 1024 else f"{mib:,.0f} MiB"


def several(count: float, word: str) -> str:
    """`1 core`, `1.05 cores`, `2 processes`."""
    text = number(count)
    return f"{text} {word}" if text == "1" else f"{text} {word}es" if word.endswith("ss") else f"{text} {word}s"


def stored(count: int) -> str:
    """`3.21 GB`, `12.0 MB`, `900 bytes`: powers of ten, as registries show them."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
