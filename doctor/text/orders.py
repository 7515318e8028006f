"""Two lists of the same GPUs in a different order: from nvidia-smi, and from torch, CUDA or a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .grammar.words import not_here
from .names import GPU
from .statement import Line, Statement, say

_KEY = lazy(r"\s{0,8}([A-Za-z][\w .()/-]{0,60})\s{0,4}[:=]\s{0,4}(.{3,400})")
_NUMBER = lazy(r"(\d{1,2})\s?[=:]")
_SHORT = lazy(r"\s{0,8}([A-Za-z][\w .()/-]{0,60})\s{0,4}[:=]\s{0,4}(\d)$")
_PROGRAM = lazy(r"torch|cuda|tensorflow|\btf\b|jax|program|process|devices?\b", re.I)


def read_orders(lines: list[Line]) -> Iterator[Statement]:
    """`raised.device-order` where a key with `smi` and one of a program list the same models differently.

    `raised.device-index` where each names one model under another number, and nothing in the text limits the devices.
    """
    yield from _numbers(lines)
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


_CHOSEN = not_here("chosen", "wanted")
_BUSY = lazy(r"busy|active|running|work|load|util|process|shown?|memory|free|idle", re.I)
_LIST = lazy(r"\W{0,2}(?:gpus?|devices?|cuda)?\W{0,3}(\d{1,2}(?:\s?[, ]\s?\d{1,2}){0,15})\W{0,2}$", re.I)


def _numbers(lines: list[Line]) -> Iterator[Statement]:
    """`devices_chosen: 2,3` beside `devices busy in nvidia-smi: 0,1`: CUDA counts the GPUs in another way."""
    smi: set[str] = set()
    chosen: set[str] = set()
    at: Line | None = None
    for line in lines:
        if not (found := _KEY.match(line.text) or _SHORT.match(line.text)) or not (some := _LIST.match(found[2])):
            continue
        key, numbers = found[1].replace("_", " "), set(re.findall(r"\d{1,2}", some[1]))
        if re.search(r"smi(?![a-z])", key, re.I) and _BUSY.search(key):
            smi, at = numbers, line
        elif _CHOSEN.search(key) and re.search(r"gpu|device|index|indices|ordinal|cuda", key, re.I):
            chosen = numbers
    if at is not None and smi and chosen and len(smi) == len(chosen) and smi != chosen:
        yield say("raised.device-order", True, at)


def _plain(name: str) -> str:
    return re.sub(r"^(?:nvidia |geforce |tesla |quadro )+", "", name.lower())
