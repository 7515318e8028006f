"""What is known about a node from one report about it: a measurement, or why there is none."""

from __future__ import annotations

from typing import NamedTuple

from .machines import Known


class Look:
    """One measurement of a node that counts: the answer itself, or a repeated one."""

    __slots__ = ("at", "base", "judged", "known", "number", "plain", "repeat", "sent", "word")

    def __init__(self, number: int, repeat: int, at: float, sent: float, base: bool) -> None:
        self.number, self.repeat, self.at, self.sent, self.base = number, repeat, at, sent, base
        self.word = self.plain = self.judged = ""
        self.known: Known | None = None
        """Of a repeated one: which answer it is."""


class Silence(NamedTuple):
    """Why a node was not examined, by the last that said so."""

    reason: str
    at: float
    sent: float


def after(one: Silence | Look, other: Silence | Look) -> bool:
    """Whether it is the later word: by the collector's clock, else by the files'."""
    return one.sent > other.sent if one.sent and other.sent else one.at > other.at
