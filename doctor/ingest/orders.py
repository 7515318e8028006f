"""Two lists of the same GPUs in another order: nvidia-smi's, and that of torch, CUDA or a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .names import GPU
from .statement import Line, Statement, say

_KEY = re.compile(r"\s{0,8}([A-Za-z][\w .()/-]{0,60})\s{0,4}[:=]\s{0,4}(.{3,400})")
_NUMBER = re.compile(r"(\d{1,2})\s?[=:]")
_PROGRAM = re.compile(r"torch|cuda|tensorflow|\btf\b|jax|program|process|devices?\b", re.I)


def read_orders(lines: list[Line]) -> Iterator[Statement]:
    """`raised.device-order` where a key with `smi` and one of a program list the same models differently.

    `raised.device-index` where each names one model under another number, and nothing in the text limits the devices.
    """
    smi: list[str] = []
    numbers: dict[bool, tuple[str, str]] = {}
    others: list[tuple[Line, list[str]]] = []
    for line in lines:
        if not (found := _KEY.match(line.text)):
            continue
        key, names = found[1], [_plain(gpu["name"]) for gpu in GPU.finditer(found[2])]
        by_smi = bool(re.search(r"smi(?![a-z])", key, re.I))
        if len(names) == 1 and (number := _NUMBER.match(found[2])) and (by_smi or _PROGRAM.search(key)):
            numbers[by_smi] = (number[1], names[0])
            if len(numbers) == 2 and numbers[True][1] == numbers[False][1] and numbers[True] != numbers[False]:
                yield say("raised.device-index", True, line)
                return
        if len(names) < 2:
            continue
        if by_smi:
            smi = names
        elif _PROGRAM.search(key.replace("_", " ")):
            others.append((line, names))
    for line, names in others:
        if smi and names != smi and sorted(names) == sorted(smi):
            yield say("raised.device-order", True, line)
            return


def _plain(name: str) -> str:
    return re.sub(r"^(?:nvidia |geforce |tesla |quadro )+", "", name.lower())
