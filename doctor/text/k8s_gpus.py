"""`nvidia.com/gpu: N` by its section: what a node offers, what a pod requests, what is in use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_OFFERS = lazy(r"\s{0,16}[\"']?(?:Capacity|Allocatable)[\"']?:", re.I)
_ASKS = lazy(r"\s{0,24}[\"']?(?:limits|requests)[\"']?:", re.I)
_TAKEN = lazy(r"\s{0,8}Allocated resources:")
_COUNT = lazy(r"\s{0,40}[\"']?nvidia\.com/gpu[\"']?\s{0,20}:\s{0,60}[\"']?(\d{1,3})\b")
_WORD = lazy(r"\s{0,40}[\"']?[\w.-]{1,40}(?:/[\w.-]{1,40})?[\"']?\s{0,20}:\s{0,60}\S")
_USED = lazy(r"\s{1,16}nvidia\.com/gpu\s{1,30}(\d{1,3})\s{1,30}(\d{1,3})\s{0,8}$")
_MOST = 60
"""Lines from the head of a part to its count."""


def read_k8s_gpus(lines: list[Line]) -> Iterator[Statement]:
    """`raised.node-offers-gpu`, and `raised.pod-asks-none` where every 0 of the text is one that a pod asks for."""
    part, at = "", 0
    offers: Line | None = None
    asks_none: Line | None = None
    other_zero = False
    for line in lines:
        text = line.text
        if ":" in text:
            if _OFFERS.match(text):
                part, at = "node", line.number
            elif _ASKS.match(text):
                part, at = "pod", line.number
            elif _TAKEN.match(text):
                part, at = "taken", line.number
            elif not text[:1].isspace() and not _WORD.match(text):
                part = ""
        if "nvidia.com/gpu" not in text or line.number - at > _MOST:
            continue
        if found := _COUNT.match(text):
            if int(found[1]) and part == "node":
                offers = offers or line
            elif not int(found[1]) and part == "pod":
                asks_none = asks_none or line
            elif not int(found[1]):
                other_zero = True
        elif (used := _USED.match(text)) and int(used[1]):
            offers = offers or line
    if offers:
        yield say("raised.node-offers-gpu", True, offers)
    if asks_none and not other_zero:
        yield say("raised.pod-asks-none", True, asks_none)
