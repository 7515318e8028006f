"""Texts with secrets by structure, pasted into `explain` in each format: none comes out."""

from __future__ import annotations

from planted.structures import structured

from .engine import Attack
from .ground import Ground

_FORMATS = (["--format", "json"], ["-vv"], ["--format", "markdown"])


def attacks(ground: Ground) -> list[Attack]:
    """Each kind in one drawn position and format."""
    return [
        Attack(
            f"{one.kind} ({one.place})",
            ["explain", "-", *_FORMATS[number % len(_FORMATS)]],
            data=one.text.encode(),
            never=one.secrets,
        )
        for number, one in enumerate(structured(ground.random("secrets").randrange(10**6), 1))
    ]
