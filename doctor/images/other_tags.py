"""Other tags of an image's release line to try, nearest first (`12.8.1-base-ubuntu22.04`, `12.4.1-base-...`)."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_OS = re.compile(r"(ubuntu|debian|rockylinux|ubi|amzn|python|py)$")


def nearest(tag: str, tags: Iterable[str]) -> list[str]:
    """Tags that differ only in their versions, not in the system's: lower ones first, each sorted nearest first."""
    shape, mine = _shape(tag), _versions(tag)
    found = {one: _versions(one) for one in tags if one != tag and _shape(one) == shape}
    below = sorted((one for one in found if found[one] < mine), key=found.__getitem__, reverse=True)
    return [*below, *sorted((one for one in found if found[one] > mine), key=found.__getitem__)]


def _shape(tag: str) -> str:
    """With `#` for each version, except those of an operating system or Python."""

    def word(found: re.Match[str]) -> str:
        return found[0] if _OS.search(tag[: found.start()]) else "#"

    return _NUMBERS.sub(word, tag)


def _versions(tag: str) -> list[tuple[int, ...]]:
    return [tuple(int(part) for part in found[0].split(".")) for found in _NUMBERS.finditer(tag)]
