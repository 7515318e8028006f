"""Facts in JSON, in Python's notation of a dict, and in YAML with levels, as the lines that a person would type:
`GPU 0: ...`, `torch==2.1.0`, `NAME=value`, `a.b: value`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ...formats.lazy import lazy
from ..statement import Line
from .words import kind_of, plain, table, variable, words

_QUOTE = lazy(r"(?:\s{0,3}> ?){1,8}")
_OPENS = lazy(r"\s{0,12}(?:[\w .-]{1,40} ?[:=] ?)?(?=[\[{]\s{0,4}(?:$|[\"'{\[\]}]))")
_ENTRY = lazy(r"(\s{0,40})((?:- {1,4}){0,3})([\"']?)([A-Za-z_/][\w ./()\[\]?-]{0,60}?)\3:(?:\s{1,8}(.{0,1500}))?$")
_ITEM = lazy(r"(\s{0,40})- {1,4}(\S.{0,1500})$")
_FLOW = lazy(r"\[(.{0,1000})\]$")
_LONGEST, _MOST_TRIES = 200_000, 100
"""Characters of one object; objects of a text that are tried."""
_MOST_LINES, _MOST_LEVELS = 2000, 20
"""Of one object."""

Told = tuple[str, str]
"""The key as the input spells it (to find its line again), and the line."""


def json_lines(rows: list[str]) -> Iterator[Line]:
    """Lines of each object that begins on a line of its own."""
    if not any("{" in row or "[" in row for row in rows):
        return
    bare = [row[found.end() :] if (found := _QUOTE.match(row)) else row for row in rows]
    after = tries = 0
    for index, row in enumerate(bare):
        if index < after or not (opens := _OPENS.match(row)) or tries >= _MOST_TRIES:
            continue
        tries += 1
        value, length = _object(row[opens.end() :], bare, index)
        if isinstance(value, (dict, list)) and value:
            after = index + length
            yield from _numbered(flat_lines((), value), list(enumerate(bare[index:after], index + 1)))


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
        if not fits or (block and row.number - block[-1].number > 1):
            yield from _block(block)
            block = []
        if fits:
            block.append(row)


def _block(block: list[Line]) -> Iterator[Line]:
    if not any(row.text.rstrip().endswith(":") for row in block[:-1]):
        return
    for group in _groups(block):
        entry = _ENTRY.match(group[0].text)
        if len(group) > 1 and entry and not entry[2] and not entry[5]:
            yield from _numbered(flat_lines((entry[4],), _value(group[1:], 0)), group)


def _groups(rows: list[Line]) -> Iterator[list[Line]]:
    """Each row with those under it: deeper ones, and items of a key, which may have its indent."""
    group: list[Line] = []
    for row in rows:
        indent = _indent(group[0].text) if group else 0
        item = row.text.lstrip().startswith("- ") and _indent(row.text) == indent
        if group and (_indent(row.text) > indent or (item and _holds_items(group[0].text))):
            group.append(row)
            continue
        if group:
            yield group
        group = [row]
    yield group


def _holds_items(text: str) -> bool:
    return text.rstrip().endswith(":") and not text.lstrip().startswith("- ")


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _value(rows: list[Line], level: int) -> Any:
    """The rows that stand under one key: a dict, or a list where they are items."""
    if level > _MOST_LEVELS or not rows:
        return None
    listed, items, found = rows[0].text.lstrip().startswith("- "), [], {}
    for group in _groups(rows):
        text = group[0].text
        if listed and text.lstrip().startswith("- "):
            inner = " " * (_indent(rows[0].text) + 2) + text.lstrip()[2:].lstrip()
            entry = _ENTRY.match(inner)
            items.append(_value([Line(group[0].number, inner), *group[1:]], level + 1) if entry else _scalar(inner))
        elif not listed and (entry := _ENTRY.match(text)):
            found[entry[4]] = _scalar(entry[5]) if entry[5] else _value(group[1:], level + 1)
    return items if listed else found


def _scalar(text: str) -> Any:
    bare = text.strip()
    if flow := _FLOW.match(bare):
        return [part.strip().strip("'\"") for part in flow[1].split(",") if part.strip()]
    return bare.strip("'\"")


def _numbered(told: Iterator[Told], rows: list[Line] | list[tuple[int, str]]) -> Iterator[Line]:
    """Each line with the number of the row that holds its key, looked for from the row before on."""
    at = 0
    for mark, text in told:
        at = next((index for index in range(at, len(rows)) if mark and mark in rows[index][1]), at)
        yield Line(rows[at][0], text)


def flat_lines(path: tuple[str, ...], value: Any) -> Iterator[Told]:
    """The lines of a value that stands under these keys."""
    return islice(_flattened(path, value, 0), _MOST_LINES)


def _flattened(path: tuple[str, ...], value: Any, level: int) -> Iterator[Told]:
    key = path[-1] if path else ""
    if level > _MOST_LEVELS:
        return
    if isinstance(value, dict):
        if _is_gpu(key, value):
            yield from _gpus(key, [value])
        elif plain(key) in words("of_packages"):
            for name, version in value.items():
                if isinstance(version, dict):  # env-doctor: {"version": "2.4.1+cu121", "cuda_version": "12.1"}
                    yield from _flattened((str(name),), version, level + 1)
                    continue
                gone = str(version).lower() in ("none", "not installed", "null", "absent", "missing")
                yield str(name), f"{name} (not installed)" if gone else f"{name}=={_flat(version)}"
        else:
            for name, inner in value.items():
                yield from _flattened((*path, str(name)), inner, level + 1)
            if key and 1 < len(value) < 9 and not any(isinstance(inner, (dict, list)) for inner in value.values()):
                yield key, f"{key}: {_flat(value)}"
    elif isinstance(value, list):
        yield from _list(path, key, value, level)
    elif isinstance(value, str) and ("\n" in value or plain(key) in words("of_texts")):
        yield from ((key, row.rstrip()) for row in value.split("\n") if row.strip())
    elif key and variable(key) == key:
        yield key, f"{key} is unset" if value is None else f"{key}={_flat(value)}"
    elif key:
        yield key, f"{'.'.join(path)}: {_flat(value)}"


def _list(path: tuple[str, ...], key: str, value: list[Any], level: int) -> Iterator[Told]:
    if value and all(isinstance(item, dict) and _is_gpu(key, item) for item in value):
        yield from _gpus(key, value)
    elif any(isinstance(item, (dict, list)) for item in value):
        for item in value:
            yield from _flattened(path, item, level + 1)
    elif plain(key) in words("of_texts") or (value and all(isinstance(item, str) and len(item) > 60 for item in value)):
        for item in value:
            yield from ((str(item)[:40], row.rstrip()) for row in str(item).split("\n") if row.strip())
    elif plain(key) in words("of_packages"):
        for item in value:
            name, _, version = re.sub(r"\s{1,4}(?=\d)", "==", str(item), count=1).partition("==")
            yield name, f"{name}=={version}" if version else str(item)
    elif key:
        yield key, f"{'.'.join(path)}: {', '.join(map(_flat, value))}"


def _is_gpu(key: str, value: dict[Any, Any]) -> bool:
    """Whether this describes boards: by the key it stands under, and by what it holds."""
    names = {str(name).lower() for name in value}
    return kind_of(key) in ("gpu_name", "gpus_line") and bool(names & (words("board_names") | words("board_counts")))


def _gpus(key: str, values: list[dict[Any, Any]]) -> Iterator[Told]:
    index = 0
    for value in values:
        fields = {str(name).lower().replace(" ", "_"): inner for name, inner in value.items()}
        name = _taken(fields, "board_names") or "unknown"
        count = str(_taken(fields, "board_counts"))
        number = re.sub(r"(?i)^(?:sm|compute)_?|\.", "", str(_taken(fields, "board_capabilities")).strip())
        rest = f", sm sm_{number}" if re.fullmatch(r"\d{2,3}[af]?", number) else ""
        mark = str(value.get("name") or name)[:40] if isinstance(name, str) else key
        for _ in range(min(int(count) if count.isdecimal() else 1, 64) or 1):
            yield mark, f"GPU {index}: {_flat(name)}{rest}" + "".join(f", {k} {_flat(v)}" for k, v in fields.items())
            index += 1


def _taken(fields: dict[str, Any], names: str) -> Any:
    """The first of these fields that says something, taken out."""
    return next((fields.pop(name) for name in table()["words"][names] if fields.get(name)), "")


def _flat(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_flat, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}={_flat(inner)}" for key, inner in value.items())
    return str(value)[:1500]
