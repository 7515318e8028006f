"""Secrets by structure (`structures.json`): pairs, commands, printed lines and columns in eight languages, each at the
start of a text, in the middle of a line, in a table, in a JSON string and on a shell's line.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .draw import Planted, filled

_HERE = Path(__file__).parent
_LOG = "2026-11-20 02:11:09,123 INFO trainer"


def structured(seed: int, places: int = 0) -> Iterator[Planted]:
    """Each kind in each position; with `places`, in so many drawn ones."""
    draw = random.Random(f"structures {seed}")
    around = json.loads((_HERE / "places.json").read_text("utf-8"))["around"]
    for row in json.loads((_HERE / "structures.json").read_text("utf-8"))["kinds"]:
        every = _POSITIONS[row["form"]]
        for place in draw.sample(sorted(every), places) if places else every:
            cells, secrets = _drawn(row, draw)
            before, after = draw.choice(around)
            lines = every[place](cells).split("\n")
            text = "\n".join(line for line in ("" if place == "start" else before, *lines, after) if line) + "\n"
            yield Planted(row["kind"], place, secrets, text)


def _drawn(row: dict[str, Any], draw: random.Random) -> tuple[list[str], tuple[str, ...]]:
    """The words of a kind with their slots filled, and its secrets."""
    if row["form"] == "pair":
        lines, secrets = filled([row["value"]], draw)
        return [draw.choice(row["keys"]), *lines], tuple(secrets)
    lines, secrets = filled(row["cells"] if row["form"] == "column" else row["lines"], draw)
    return [*row.get("head", ()), *lines], tuple(secrets)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _halves(cells: list[str]) -> tuple[list[str], list[str]]:
    return cells[: len(cells) // 2], cells[len(cells) // 2 :]


def _rows(cells: list[str], between: str) -> str:
    return "\n".join(between.join(half) for half in _halves(cells))


def _markdown(cells: list[str]) -> str:
    head, row = _halves(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), row))


def _aligned(cells: list[str]) -> str:
    head, row = _halves(cells)
    wide = [max(len(a), len(b)) + 2 for a, b in zip(head, row, strict=True)]
    return "\n".join("".join(c.ljust(w) for c, w in zip(line, wide, strict=True)).rstrip() for line in (head, row))


def _shell_pair(cells: list[str]) -> str:
    key, value = cells
    if key.isidentifier():
        return f"$ {key}='{value}' python train.py"
    return f"$ ./launch.sh --gpus all --set '{key}={value}'"


_POSITIONS: dict[str, dict[str, Callable[[list[str]], str]]] = {
    "pair": {
        "start": lambda c: f"{c[0]}: {c[1]}",
        "middle": lambda c: f"{_LOG} config loaded; gpus=8; {c[0]}={c[1]}; dtype=bf16",
        "table": lambda c: f"| driver | 550.90.07 |\n| {c[0]} | {c[1]} |",
        "JSON string": lambda c: f'{{"gpus": 8, {_string(c[0])}: {_string(c[1])}}}',
        "shell line": _shell_pair,
    },
    "shell": {
        "start": lambda c: c[0],
        "middle": lambda c: f"[build 3/7] RUN {c[0]} && nvidia-smi",
        "table": lambda c: f"| 501 | nvidia-smi | 0 |\n| 502 | {c[0]} | 0 |",
        "JSON string": lambda c: f'{{"cwd": "/opt", "command": {_string(c[0])}}}',
        "shell line": lambda c: f"$ cd /workspace && {c[0]}",
    },
    "text": {
        "start": lambda c: c[0],
        "middle": lambda c: f"trainer-0  | {c[0]}",
        "table": lambda c: f"| 7 | {c[0]} |",
        "JSON string": lambda c: f'{{"stream": "stdout", "log": {_string(c[0] + chr(10))}}}',
        "shell line": lambda c: f"$ tail -1 out.txt\n{c[0]}",
    },
    "column": {
        "start": lambda c: _rows(c, ","),
        "middle": lambda c: f"{_LOG} wrote:\n{_rows(c, ', ')}",
        "table": _markdown,
        "JSON string": lambda c: f'{{"csv": {_string(_rows(c, ","))}}}',
        "shell line": lambda c: f"$ ./list.sh | column -t\n{_aligned(c)}",
    },
}  # fmt: skip
