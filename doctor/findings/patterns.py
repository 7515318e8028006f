"""Regular expressions that are compiled when they are first used: a run needs few of the catalogue's many."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    __slots__ = ("_flags", "_text")

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        return getattr(re.compile(self._text, self._flags), name)  # re keeps what it compiled


def lazy(text: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` returns, as far as its methods go."""
    return cast("re.Pattern[str]", _Lazy(text, flags))
