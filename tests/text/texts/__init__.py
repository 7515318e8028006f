"""Texts in the real layout of each tool, made up for the tests; they are also where the fuzzer starts."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.txt")))


def text(name: str) -> str:
    """One of them."""
    return (HERE / f"{name}.txt").read_text("utf-8")
