"""Words that say: not what is here now, but what was, what is elsewhere, what somebody wants, asks for or tries."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pkgutil import get_data

_PARTS = re.compile(r"[ .()/,_-]+")


@lru_cache(maxsize=1)
def _groups() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(get_data(__package__, "not_here.json") or b"{}")
    return found


@lru_cache(maxsize=1)
def _of_a_key() -> frozenset[str]:
    kinds = ("earlier", "elsewhere", "wanted", "asked", "tried", "compared", "subject")
    return frozenset(word for kind in kinds for word in _groups()[kind])


def pattern(*kinds: str, then: str = "") -> re.Pattern[str]:
    """A pattern of the words of these kinds, and of what follows them."""
    words = sorted({word for kind in kinds for word in _groups()[kind]}, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(words)})\b{then}", re.I)


def key_of_here(key: str) -> bool:
    """Whether a key may speak of the machine as it is."""
    return _of_a_key().isdisjoint(_PARTS.split(key.lower()))
