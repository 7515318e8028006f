"""One line's key and value, and the pairs of a list: read by what the key means, else by what the value says."""

from __future__ import annotations

from collections.abc import Iterator

from ...formats.lazy import lazy
from .. import meanings, values
from ..names import is_board
from ..packages import package_statements
from ..statement import Line, Statement
from ..variables import variable
from .words import key_of_here, kind_of, package_name, package_named

_KEY = lazy(r"\s{0,12}([A-Za-z/][\w .()/?,\[\]-]{0,60}?)\s{0,40}(?::|=(?!=))\s{0,8}(.{0,400})")
_PAIR = lazy(r"\s{0,2}([A-Za-z_][\w ./-]{0,40}?)\s?(?:=(?!=)|:\s)\s?(?=\S)")
_NEXT = lazy(r"[,;|]\s{0,3}(?=[A-Za-z_][\w ./-]{0,40}?\s?(?:=(?!=)|:\s))")
_MAPPING = lazy(r"[a-z_]{2,30}=(?!=)[^=,]{1,80}(?:, [a-z_]{2,30}=|$)")
"""`name=RTX 3090, driver=535.54`: read by its members."""
_ITEM = lazy(
    r"((?:nvidia-[a-z-]{2,30}-cu1\d(?=[ @=]))|[A-Za-z][\w.-]{1,60}?)(\[[\w,-]{1,40}\])?"
    r"(==|=|\s?@\s?|[ _-]v?)(?=\d)([\w.+!]{1,60})"
)
_CUDA_WHEEL = lazy(
    r"nvidia-[a-z-]{3,30}-cu1[1-3]|lib(?:cublas|cusolver|cusparse|cufft|curand|nvjitlink)(?:-dev)?|cuda-(?:cudart|nvrtc)"
)
_VERSION = lazy(r"\d{1,4}\.\d[\w.+!]{0,60}")
_MOST_KEYS, _MOST_PAIRS = 20_000, 60
"""Keys that differ: a text with more is a log, not a description of a machine; pairs of one list."""


def split(text: str) -> tuple[str, str] | None:
    """Key and value of a line; None where it has no key."""
    if (":" not in text and "=" not in text) or (text.startswith("GPU ") and text[4:5].isdecimal()):
        return None
    found = _KEY.match(text)
    return (found[1], found[2].strip()) if found and not found[2].startswith("//") else None


def pairs(value: str) -> list[tuple[str, str]]:
    """`name=RTX 3090, driver=535.54` -> its keys and values; empty where the value is no such list."""
    if ("=" not in value and ": " not in value) or not (first := _PAIR.match(value)):
        return []
    found = []
    for part in _NEXT.split(value, maxsplit=_MOST_PAIRS)[:_MOST_PAIRS]:
        if (pair := _PAIR.match(part)) is None:
            return []
        found.append((pair[1].strip(), part[pair.end() :].strip().rstrip(",;|").strip()))
    return found if len(found) > 1 or "=" in first[0] else []


def read_keyed(lines: list[Line]) -> Iterator[Statement]:
    """Statements of every line whose key is known, or whose key and value together leave no doubt."""
    cache: dict[str, str] = {}
    for line in lines:
        if (parts := split(line.text)) is None:
            continue
        key, value = parts
        if key.startswith("build.") or (key == "Kernel modules" and line.text[:1].isspace()):
            continue  # xformers.info: of the machine that built the wheel; lspci -k: those that could be loaded
        if key not in cache and len(cache) <= _MOST_KEYS:
            cache[key] = kind_of(key)
        if (kind := cache.get(key)) and not _MAPPING.match(value):
            yield from meanings.statements(kind, value, line)


def read_free(lines: list[Line]) -> Iterator[Statement]:
    """Statements of packages, variables and boards in a value whose key no table knows, where it does not forbid it."""
    for line in lines:
        if (parts := split(line.text)) is None or not key_of_here(parts[0]):
            continue
        key, value = parts
        if many := pairs(value):
            for name, content in many:
                yield from _member(name, content, line)
        elif not kind_of(key):
            if (package := package_name(key) or _cuda_wheel(key)) and (version := _VERSION.match(value)):
                yield from package_statements(package, version[0], "", line)
            parts_of_value = values.items(value)
            if len(parts_of_value) > 1 and all(map(is_board, parts_of_value)):
                yield from meanings.statements("gpu_name", value, line)
            for part in parts_of_value:
                found = _ITEM.fullmatch(part.split(" (")[0])
                if found and (found[3] == "==" or package_named(found[1])):
                    yield from package_statements(found[1], found[4], "", line)


def _member(name: str, content: str, line: Line) -> Iterator[Statement]:
    """A variable or a package of a list of pairs; its facts stand on lines of their own (`lines`)."""
    if name.isupper() and "_" in name:
        yield from variable(name, content, line)
    elif key_of_here(name) and _VERSION.match(content) and " " not in name and package_named(name):
        yield from package_statements(name, content, "", line)


def _cuda_wheel(key: str) -> str:
    """Packages of CUDA libraries, as pip and conda name them; '' for any other key."""
    name = key.lower().partition("(")[0].strip().replace("_", "-")
    return name if _CUDA_WHEEL.fullmatch(name) else ""
