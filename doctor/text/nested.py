"""Facts in JSON, in Python's notation of a dict, and in YAML with levels: written out as lines of `key: value`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .statement import Line
from .tell import tell

_QUOTE = re.compile(r"(?:\s{0,3}> ?){1,8}")
_OPENS = re.compile(r"\s{0,12}(?:[\w .-]{1,40} ?[:=] ?)?(?=[\[{]\s{0,4}(?:$|[\"'{\[\]}]))")
_LONGEST = 200_000
"""Characters of one object."""
_MOST_TRIES = 100
_ENTRY = re.compile(
    r"(\s{0,40})((?:- {1,4}){0,3})([\"']?)([A-Za-z_/][\w ./()\[\]?-]{0,60}?)\3:(?:\s{1,8}(.{0,1500}))?$"
)
_ITEM = re.compile(r"(\s{0,40})- {1,4}(\S.{0,1500})$")
_FLOW = re.compile(r"\[(.{0,1000})\]$")
_MOST_LEVELS = 12


def json_lines(rows: list[str]) -> Iterator[Line]:
    """Lines of each object that begins on a line of its own."""
    if not any("{" in row or "[" in row for row in rows):
        return
    plain = [row[found.end() :] if (found := _QUOTE.match(row)) else row for row in rows]
    after = tries = 0
    for index, row in enumerate(plain):
        if index < after or not (opens := _OPENS.match(row)) or tries >= _MOST_TRIES:
            continue
        tries += 1
        value, length = _object(row[opens.end() :], plain, index)
        if not isinstance(value, (dict, list)) or not value:
            continue
        after = index + length
        yield from _numbered(list(tell((), value)), plain, index, index + length)


def _object(rest: str, rows: list[str], index: int) -> tuple[Any, int]:
    """What begins here, and over how many lines; None where it is neither JSON nor Python."""
    size, last = len(rest), index + 1
    while last < len(rows) and size < _LONGEST:
        size += len(rows[last]) + 1
        last += 1
    text = "\n".join([rest, *rows[index + 1 : last]])[:_LONGEST]
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        pass
    else:
        return value, text.count("\n", 0, end) + 1
    if not rest.rstrip().endswith(("}", "]")) or len(rest) > 20_000 or "'" not in rest:
        return None, 0
    from ast import literal_eval

    try:
        return literal_eval(rest.strip()), 1
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None, 0


def yaml_lines(rows: list[Line]) -> Iterator[Line]:
    """Lines of what stands under a key, or in a list of items: deeper by its indent."""
    block: list[Line] = []
    for row in [*rows, Line(0, "")]:
        fits = bool(row.text) and (_ENTRY.match(row.text) or _ITEM.match(row.text))
        if fits and (not block or row.number - block[-1].number <= 1):
            block.append(row)
            continue
        yield from _block(block)
        block = [row] if fits else []


def _block(block: list[Line]) -> Iterator[Line]:
    if len(block) < 2 or not any(_ENTRY.match(row.text) and row.text.rstrip().endswith(":") for row in block[:-1]):
        return
    index = 0
    while index < len(block):
        top = block[index]
        last = index + 1
        indent = _indent(top.text)
        while last < len(block) and (
            _indent(block[last].text) > indent or _is_item_of(top.text, block[last].text, indent)
        ):
            last += 1
        entry = _ENTRY.match(top.text)
        if last > index + 1 and entry and not entry[2] and not entry[5]:
            value = _value(block[index + 1 : last], 0)
            lines = list(tell((entry[4],), value))
            texts = [row.text for row in block[index:last]]
            yield from _numbered(lines, texts, 0, len(texts), block[index].number)
        index = last


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _is_item_of(top: str, text: str, indent: int) -> bool:
    """`key:` and its items may have one indent."""
    return top.rstrip().endswith(":") and _indent(text) == indent and text.lstrip().startswith("- ")


def _value(rows: list[Line], level: int) -> Any:
    """The rows that stand under one key: a dict, or a list where they are items."""
    if level > _MOST_LEVELS or not rows:
        return None
    indent = _indent(rows[0].text)
    listed = rows[0].text.lstrip().startswith("- ")
    found_list: list[Any] = []
    found: dict[str, Any] = {}
    index = 0
    while index < len(rows):
        text = rows[index].text
        last = index + 1
        while last < len(rows) and _indent(rows[last].text) > indent:
            last += 1
        if listed:
            if text.lstrip().startswith("- "):
                inner = " " * (indent + 2) + text.lstrip()[2:].lstrip()
                if _ENTRY.match(inner):
                    found_list.append(_value([Line(rows[index].number, inner), *rows[index + 1 : last]], level + 1))
                else:
                    found_list.append(_scalar(inner))
        elif entry := _ENTRY.match(text):
            under = rows[index + 1 : last]
            while not entry[5] and last < len(rows) and _is_item_of(text, rows[last].text, indent):
                under.append(rows[last])
                last += 1
            found[entry[4]] = _scalar(entry[5]) if entry[5] else _value(under, level + 1)
        index = last
    return found_list if listed else found


def _scalar(text: str) -> Any:
    plain = text.strip()
    if flow := _FLOW.match(plain):
        return [part.strip().strip("'\"") for part in flow[1].split(",") if part.strip()]
    return plain.strip("'\"")


def _numbered(told: list[tuple[str, str]], rows: list[str], first: int, last: int, base: int = 0) -> Iterator[Line]:
    """Each line with the number of the row that holds its key, looked for from the row before on."""
    at = first
    for mark, text in told:
        found = next((index for index in range(at, last) if mark and mark in rows[index]), None)
        at = at if found is None else found
        yield Line((base + at) if base else at + 1, text)
