"""Regular expressions that are compiled when they are first used: a run needs few of the many."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Lazy:
    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        self.__dict__[name] = found  # the next call finds it without coming here
        return found


def lazy(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` returns, as far as its methods go."""
    return cast("re.Pattern[AnyStr]", _Lazy(text, flags))
