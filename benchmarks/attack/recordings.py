"""Recordings with damaged, missing, added and hostile files, judged by --replay."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from .engine import Attack
from .ground import Ground, hostile, leaves, planted

_COMMANDS = (["check"], ["check", "--format", "json"], ["check", "-vv"], ["fix"])


def attacks(ground: Ground) -> list[Attack]:
    """Each way to spoil a recording, on each of its files; then hostile values in its lines."""
    found = []
    names = sorted(path.name for path in ground.recording.iterdir())
    for at, name in enumerate(names):
        for number, how in enumerate(_WAYS):
            words = _COMMANDS[(at + number) % len(_COMMANDS)]
            found.append(Attack(f"{name}: {how}", [*words, "--replay", "it"], partial(_spoiled, ground, name, how)))
    for number in range(80):
        words = [*_COMMANDS[number % len(_COMMANDS)], "--replay", "it"]
        found.append(Attack(f"values drawn ({number})", words, partial(_hostile_lines, ground, number)))
    return found


def _spoiled(ground: Ground, name: str, how: str, attack: Attack) -> None:
    shutil.copytree(ground.recording, attack.folder / "it")
    _WAYS[how](attack.folder / "it" / name, ground.random(f"recording {name} {how}"))


def _hostile_lines(ground: Ground, number: int, attack: Attack) -> None:
    draw = ground.random(f"lines {number}")
    shutil.copytree(ground.recording, attack.folder / "it")
    path = draw.choice(sorted((attack.folder / "it").iterdir()))
    attack.name += f" in {path.name}"
    lines = [path.read_text("utf-8")] if path.suffix == ".json" else path.read_text("utf-8").splitlines()
    for _ in range(draw.randrange(1, 8)):
        at = draw.randrange(len(lines))
        value = json.loads(lines[at])
        if places := leaves(value):
            value = planted(value, draw.choice(places), hostile(draw))
        lines[at] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n", "utf-8", "surrogatepass")


def _cut(path: Path, draw: Random) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size))


def _flip(path: Path, draw: Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(20):
        data[draw.randrange(len(data))] = draw.randrange(256)
    path.write_bytes(data)


def _shuffle(path: Path, draw: Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    draw.shuffle(lines)
    path.write_bytes(b"".join(lines))


def _append(data: bytes) -> Callable[[Path, Random], None]:
    def spoil(path: Path, draw: Random) -> None:
        with open(path, "ab") as file:
            file.write(data)

    return spoil


def _instead(make: Callable[[Path], object]) -> Callable[[Path, Random], None]:
    def spoil(path: Path, draw: Random) -> None:
        path.unlink()
        make(path)

    return spoil


_WAYS: dict[str, Callable[[Path, Random], None]] = {
    "cut": _cut,
    "cut elsewhere": _cut,
    "bytes changed": _flip,
    "lines in another order": _shuffle,
    "missing": _instead(lambda path: None),
    "empty": _instead(lambda path: path.touch()),
    "a FIFO": _instead(os.mkfifo),
    "a folder": _instead(lambda path: path.mkdir()),
    "a link to itself": _instead(lambda path: path.symlink_to(path.name)),
    "a link to /dev/zero": _instead(lambda path: path.symlink_to("/dev/zero")),
    "over its size": _append(b"\n" * (65 << 20)),
    "a line of 9 MB": _append(b'{"at": "file", "path": "/x", "text": "' + b"x" * (9 << 20) + b'"}\n'),
    "deep JSON": _append(b"[" * 100_000 + b"\n"),
    "NUL bytes": _append(b"\0" * 5000),
    "invalid UTF-8": _append(b'{"at": "\xc3\x28"}\n'),
    "a list as a line": _append(b"[1, 2]\n"),
    "many lines": _append(b'{"field": "count", "value": 99999999, "at": "dir", "path": "/"}\n' * 9_999),
    "an end too many": _append(b'{"agent_end": {"fault": "nonsense", "returncode": "x", "guilty": 7}}\n' * 3),
}
