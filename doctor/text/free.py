"""Lines whose key no table knows: `hardware: 2x RTX 3090`, `software: torch=2.1.0, driver=535.54`. The value tells."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import meanings, values
from .grammar.words import key_of_here, kind_of, package_name, package_named, words
from .keyed import split
from .names import is_board
from .packages import package_statements
from .statement import Line, Statement
from .variables import variable

_PAIR = re.compile(r"\s{0,2}([A-Za-z_][\w ./-]{0,40}?)\s?(?:=(?!=)|:\s)\s?(?=\S)")
_NEXT = re.compile(r"[,;|]\s{0,3}(?=[A-Za-z_][\w ./-]{0,40}?\s?(?:=(?!=)|:\s))")
_ITEM = re.compile(
    r"((?:nvidia-[a-z-]{2,30}-cu1\d(?=[ @=]))|[A-Za-z][\w.-]{1,60}?)(\[[\w,-]{1,40}\])?"
    r"(==|=|\s?@\s?|[ _-]v?)(?=\d)([\w.+!]{1,60})"
)
_VERSION = re.compile(r"\d{1,4}\.\d[\w.+!]{0,60}")
_CUDA_WHEEL = re.compile(
    r"nvidia-[a-z-]{3,30}-cu1[1-3]|lib(?:cublas|cusolver|cusparse|cufft|curand|nvjitlink)(?:-dev)?|cuda-(?:cudart|nvrtc)"
)
"""Packages of CUDA libraries, as pip and conda name them."""
_MOST_PAIRS = 60


def read_free(lines: list[Line]) -> Iterator[Statement]:
    """Statements of values that are lists of pairs, packages or boards, where their key does not forbid it."""
    for line in lines:
        if (parts := split(line.text)) is None:
            continue
        key, value = parts
        if key_of_here(key):
            yield from _value(key, value, line)


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


def _value(key: str, value: str, line: Line) -> Iterator[Statement]:
    if many := pairs(value):
        boards = bool(words("boards").intersection(key.lower().replace("_", " ").split()))
        yield from _board(many, line) if boards else ()
        for name, content in many:
            if name.isupper() and "_" in name:
                yield from variable(name, content, line)
                continue
            if not key_of_here(name):
                continue
            kind = kind_of(f"{key} {name}")
            if not kind and kind_of(name) in words("safe") and not (boards and kind_of(name) != "driver"):
                kind = kind_of(name)
            if kind and not (boards and kind == "gpu_name"):
                yield from meanings.statements(kind, content, line)
            elif not kind:
                yield from _other(name, content, line)
    elif not kind_of(key):
        if (package := package_name(key) or _cuda_wheel(key)) and (version := _VERSION.match(value)):
            yield from package_statements(package, version[0], "", line)
        parts = values.items(value)
        if len(parts) > 1 and all(map(is_board, parts)):
            yield from meanings.statements("gpu_name", value, line)
        for part in parts:
            found = _ITEM.fullmatch(part.split(" (")[0])
            if found and (found[3] == "==" or package_named(found[1])):
                yield from package_statements(found[1], found[4], "", line)


def _other(name: str, content: str, line: Line) -> Iterator[Statement]:
    """A package by its name."""
    if _VERSION.match(content) and " " not in name and package_named(name):
        yield from package_statements(name, content, "", line)


def _board(many: list[tuple[str, str]], line: Line) -> Iterator[Statement]:
    """`name=Tesla P40, count=2, vram=24GB` of one kind of board."""
    from .gpus import gpu_statements

    said = {name.lower(): content for name, content in many}
    name = next((said[word] for word in ("name", "model", "gpu", "type", "product") if word in said), "")
    count = next((said[word] for word in ("count", "number", "quantity", "num") if word in said), "1")
    if name and sum(pair[0].lower() == "name" for pair in many) < 2:
        for row in gpu_statements(name, line):
            if count.isdecimal() and row.value.get("count") == 1:
                row.value["count"] = min(int(count), 64)
            yield row
    else:
        for pair in many:
            if pair[0].lower() in ("name", "model"):
                yield from gpu_statements(pair[1], line)


def _cuda_wheel(key: str) -> str:
    name = key.lower().replace("_", "-").split(" ")[0]
    return name if _CUDA_WHEEL.fullmatch(name) else ""


__all__ = ["pairs", "read_free"]
