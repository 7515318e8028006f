"""Two lists of the same GPUs in another order: nvidia-smi's, and that of torch, CUDA or a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .names import GPU
from .statement import Line, Statement, say

_KEY = re.compile(r"\s{0,8}([A-Za-z][\w .()/-]{0,60})\s{0,4}[:=]\s{0,4}(.{3,400})")
_PROGRAM = re.compile(r"torch|cuda|tensorflow|\btf\b|jax|program|process|devices?\b", re.I)


def read_orders(lines: list[Line]) -> Iterator[Statement]:
    """`raised.device-order` where a key with `smi` and one of a program list the same models differently."""
    smi: list[str] = []
    others: list[tuple[Line, list[str]]] = []
    for line in lines:
        if not (found := _KEY.match(line.text)):
            continue
        key, names = found[1], [_plain(gpu["name"]) for gpu in GPU.finditer(found[2])]
        if len(names) < 2:
            continue
        if re.search(r"smi(?![a-z])", key, re.I):
            smi = names
        elif _PROGRAM.search(key.replace("_", " ")):
            others.append((line, names))
    for line, names in others:
        if smi and names != smi and sorted(names) == sorted(smi):
            yield say("raised.device-order", True, line)
            return


def _plain(name: str) -> str:
    return re.sub(r"^(?:nvidia |geforce |tesla |quadro )+", "", name.lower())
