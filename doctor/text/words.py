"""Which words a text contains at all: a cheap 'no' for the readers and messages that it does not need."""

from __future__ import annotations

from .statement import Line

_CHUNK = 4096
"""Lines that are split at once."""
_MOST_WORDS = 400_000
"""Words that differ; beyond them everything may be there."""
_DIGITS = dict.fromkeys(range(ord("0"), ord("9") + 1))


class Words:
    """Every word of the lines once, in lower case and without digits: logs repeat their words and count up numbers."""

    def __init__(self, lines: list[Line]) -> None:
        seen: set[str] = set()
        for start in range(0, len(lines), _CHUNK):
            part = "\n".join([line.text for line in lines[start : start + _CHUNK]])
            seen.update(part.lower().translate(_DIGITS).split())
            if len(seen) > _MOST_WORDS:
                break
        self._all = len(seen) > _MOST_WORDS
        self._text = "" if self._all else "\n".join(seen)

    def may_hold(self, text: str) -> bool:
        """False: no line holds this text (in lower case); True: its words are there, together or not."""
        if self._all:
            return True
        return all((word if word.isalpha() else word.translate(_DIGITS)) in self._text for word in text.split())
