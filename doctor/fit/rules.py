"""Bytes per parameter, by rule tables that disagree and say why, and what a process needs in addition to its
tensors."""

from __future__ import annotations

import json
from functools import lru_cache
from pkgutil import get_data
from typing import Any

from msgspec import Struct, convert


class Rule(Struct, frozen=True):
    """One school's bytes per parameter in mixed-precision training with AdamW. states: part -> bytes."""

    name: str
    title: str
    states: dict[str, float]
    source: str
    why: str

    @property
    def bytes(self) -> float:
        """Of all states together."""
        return sum(self.states.values())


class Span(Struct, frozen=True):
    """What is known to lie between two values, and who says so."""

    low: float
    high: float
    source: str


class Rules(Struct, frozen=True):
    """The whole file. optimizers: bytes of states per parameter; bits: of one weight, by type."""

    rules: tuple[Rule, ...]
    optimizers: dict[str, float]
    bits: dict[str, float]
    bits_sources: dict[str, str]
    context_mib: Span
    workspace_mib: Span
    fragmentation_percent: Span


@lru_cache(maxsize=1)
def rules() -> Rules:
    """The tables of `rules.json`."""
    found: Any = json.loads(get_data(__package__, "rules.json") or b"{}")
    return convert(found, Rules)


def size_of(dtype: str) -> float:
    """Bytes of one weight of a type. Raises KeyError for one that is not listed."""
    return rules().bits[dtype] / 8


def states(rule: Rule, optimizer: str) -> dict[str, float]:
    """Bytes per parameter by part, with this optimizer's states in place of AdamW's. Raises KeyError for another."""
    return {**rule.states, "optimizer": rules().optimizers[optimizer]}
