"""Lines of `key: value`: torch's collect_env, its relatives, and facts that people type, read by their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import meanings
from .grammar.words import kind_of
from .statement import Line, Statement

_KEY = re.compile(r"\s{0,12}([A-Za-z/][\w .()/?,\[\]-]{0,60}?)\s{0,40}(?::|=(?!=))\s{0,8}(.{0,400})")
_MAPPING = re.compile(r"[a-z_]{2,30}=(?!=)[^=,]{1,80}(?:, [a-z_]{2,30}=|$)")
"""`name=RTX 3090, driver=535.54`: read by its members (`free`)."""
_MOST_KEYS = 20_000


def split(text: str) -> tuple[str, str] | None:
    """Key and value of a line; None where it has no key."""
    if (":" not in text and "=" not in text) or (text.startswith("GPU ") and text[4:5].isdecimal()):
        return None
    found = _KEY.match(text)
    return (found[1], found[2].strip()) if found and not found[2].startswith("//") else None


def read_keyed(lines: list[Line]) -> Iterator[Statement]:
    """Statements of every line whose key is known, or whose key and value together leave no doubt."""
    cache: dict[str, str] = {}
    for line in lines:
        if (parts := split(line.text)) is None:
            continue
        key, value = parts
        if key.startswith("build.") or (key == "Kernel modules" and line.text[:1].isspace()):
            continue  # xformers.info: of the machine that built the wheel; lspci -k: those that could be loaded
        if key not in cache:
            if len(cache) > _MOST_KEYS:
                continue  # a log, not a description of a machine
            cache[key] = kind_of(key)
        if (kind := cache[key]) and not _MAPPING.match(value):
            yield from meanings.statements(kind, value, line)
