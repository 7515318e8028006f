"""Mutations of valid inputs: of bytes, of lines, and of what JSON says. The same random numbers, the same input."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

LONGEST = 1 << 18
"""An input is cut here."""
WORDS = (
    b"0", b"-1", b"9" * 30, b"9" * 5000, b"1e999", b"NaN", b"1.5", b"\xc2\xb2", b"\xd9\xa3", b"\xef\xbc\x91", b"\0", b"\xff",
    b"\xed\xa0\x80", b"\r\n", b"\n", b"\n\n", b"\x0b", b"\x1c", b"\xe2\x80\xa8", b"\x1b[31m", b" ", b"\t", b":", b"=", b",", b";",
    b'"', b"'", b"\\", b"\\777", b"[" * 3000, b"(" * 300, b"a" * 5000, b" " * 4000, b"\n" * 3000, b"\t" * 4000, b".1" * 2000, b"None", b"unlimited", b"max", b"%s", b"{}",
)  # fmt: skip
NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    0xFFF,
    0x7FFF,
    0xFFFF,
    1 << 16,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
)
WIDE = (*NUMBERS, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63), 10**400, 1e308, -0.5, 12080, 803, "", " ", "x", "0", "[N/A]", "\ud800",
    "\x00", "\x1b[31m", "a" * 4000, "9" * 5000, "\u00b2", "12.8", "570.86.10", "sm_90", "/", "../..", "/home/x", "GPU-", "GPU-5f3a9c1e",
    [], {}, [[]], [None], [1, "x"], {"": 0}, {"a": {"b": []}}, "not-asked", "absent", "error",
)  # fmt: skip


def mutate_bytes(random: Random, data: bytes, others: list[bytes], words: tuple[bytes, ...] = ()) -> bytes:
    """One to a few changes anywhere."""
    for _ in range(random.choice((1, 1, 2, 3, 5, 9))):
        data = _one(random, data, others, words)[:LONGEST]
    return data


def _one(random: Random, data: bytes, others: list[bytes], words: tuple[bytes, ...]) -> bytes:
    kind = random.randrange(10)
    at = _place(random, len(data))
    end = min(len(data), at + random.choice((1, 2, 4, 8, 16, 64, 500)))
    if kind == 0 and data:
        return data[:at] + bytes((random.randrange(256),)) + data[at + 1 :]
    if kind == 1 and data:
        return data[:at] + bytes((data[at % len(data)] ^ 1 << random.randrange(8),)) + data[at + 1 :]
    if kind == 2:
        return data[:at] + data[end:]
    if kind == 3:
        return data[:at]
    if kind == 4:
        return data[:end] + data[at:end] * random.choice((1, 1, 2, 30, 300)) + data[end:]
    if kind == 5:
        other = random.choice(others)
        begin = _place(random, len(other))
        return data[:at] + other[begin : begin + random.choice((4, 16, 64, 1000, 1 << 20))] + data[end:]
    if kind in (6, 7):
        size = random.choice((2, 4, 8))
        at -= at % size if random.random() < 0.7 else 0
        old = int.from_bytes(data[at : at + size], "little")
        number = random.choice(
            (random.choice(WIDE), old + random.choice((-8, -1, 1, 8)), len(data) - random.randrange(64))
        )
        return data[:at] + (number % (1 << 8 * size)).to_bytes(size, "little") + data[at + size :]
    word = random.choice(words) if words and random.random() < 0.5 else random.choice(WORDS)
    return data[:at] + word + data[at if kind == 8 else end :]


def _place(random: Random, length: int) -> int:
    """Anywhere, but headers stand at the beginning and tables at the end."""
    kind = random.randrange(4)
    if kind == 0:
        return random.randrange(min(length, 64) + 1)
    if kind == 1:
        return max(0, length - random.randrange(min(length, 1024) + 1))
    return random.randrange(length + 1)


def mutate_text(random: Random, data: bytes, others: list[bytes], words: tuple[bytes, ...] = ()) -> bytes:
    """Changes of lines, fields and numbers; at times of bytes."""
    for _ in range(random.choice((1, 1, 2, 4))):
        kind = random.randrange(7)
        lines = data.splitlines(keepends=True) or [b""]
        at = random.randrange(len(lines))
        if kind == 0:
            line = random.choice(lines)
            lines.insert(at, line * min(random.choice((1, 2, 500)), LONGEST // max(1, len(line))))
        elif kind == 1:
            del lines[at]
        elif kind == 2:
            other = random.choice(others).splitlines(keepends=True) or [b""]
            lines[at : at + random.randrange(2)] = [random.choice(other)]
        elif kind == 3:
            fields = lines[at].split(b" ")
            fields[random.randrange(len(fields))] = random.choice(random.choice((WORDS, words or WORDS)))
            lines[at] = b" ".join(fields)
        elif kind == 4:
            return mutate_bytes(random, b"".join(lines), others, words)
        else:
            lines[at] = _digits(random, lines[at])
        data = b"".join(lines)[:LONGEST]
    return data


def _digits(random: Random, line: bytes) -> bytes:
    """Another number in the place of one that stands there."""
    places = [i for i, byte in enumerate(line) if 48 <= byte < 58]
    if not places:
        return line + random.choice(WORDS)
    begin = end = random.choice(places)
    while end < len(line) and 48 <= line[end] < 58:
        end += 1
    number = random.choice((*WORDS[:10], b"", str(random.choice(WIDE)).encode(), b"-" + line[begin:end]))
    return line[:begin] + number + line[end:]


def mutate_json(random: Random, data: bytes, others: list[bytes], words: tuple[bytes, ...] = ()) -> bytes:
    """Other values, missing and strange keys in a JSON document; at times of bytes."""
    if random.random() < 0.2:
        return mutate_text(random, data, others, words)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(random, data, others, words)
    for _ in range(random.choice((1, 1, 2, 5))):
        value = change(random, value)
    written = json.dumps(value).encode()
    return written[: 4 * LONGEST]


def mutate_json_lines(random: Random, data: bytes, others: list[bytes], words: tuple[bytes, ...] = ()) -> bytes:
    """The same for a file with a document in each line; lines are also moved, dropped, repeated and taken from others."""
    if random.random() < 0.25:
        return mutate_text(random, data, others, words)
    lines = data.split(b"\n")
    for _ in range(random.choice((1, 1, 2, 6))):
        at = random.randrange(len(lines))
        lines[at] = mutate_json(random, lines[at], others, words)
    return b"\n".join(lines)[: 4 * LONGEST]


def change(random: Random, value: Any) -> Any:
    """The value with one change somewhere inside; what was a list or table is changed in place."""
    spot: Any = value
    path: list[tuple[Any, Any]] = []
    while isinstance(spot, (dict, list)) and spot and (not path or random.random() < 0.85):
        key = random.choice(list(spot)) if isinstance(spot, dict) else random.randrange(len(spot))
        path.append((spot, key))
        spot = spot[key]
    if not path:
        return deepcopy(random.choice(VALUES))
    holder, key = path[-1]
    kind = random.randrange(8)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder *= random.choice((0, 2, 3, 40)) if len(holder) < 1000 and len(json.dumps(holder)) < 20_000 else 0
    elif kind == 1:
        holder[random.choice(("", "value", "error", "at", "path", "field", "begin", "\x00"))] = holder.pop(key)
    elif kind == 2 and isinstance(spot, str) and spot:
        at = random.randrange(len(spot))
        word = random.choice(WORDS).decode("utf-8", "replace")
        holder[key] = spot[:at] + word + spot[at + random.randrange(3) :]
    elif kind == 3:
        other, name = random.choice(path)
        holder[key] = json.loads(json.dumps(other[name])) if len(json.dumps(other[name])) < 20_000 else None
    elif kind == 4 and isinstance(spot, (int, float)):
        holder[key] = random.choice((spot + 1, -spot, spot * 1000, str(spot), [spot]))
    else:
        holder[key] = deepcopy(random.choice(VALUES))
    return value
