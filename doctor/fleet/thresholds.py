"""The numbers that the statistics over a fleet go by, each with its reason: `thresholds.json`."""

from __future__ import annotations

import json
from functools import lru_cache
from pkgutil import get_data
from typing import Any, Literal, TypeAlias

from msgspec import Struct, convert

Kind: TypeAlias = Literal["matmul", "memory", "copy"]
"""Figures of speed that nodes are compared by."""


class Number(Struct, frozen=True):
    """One threshold. Shares are of 1."""

    value: float
    why: str


class Sizes(Struct, frozen=True):
    """Several numbers with one reason."""

    value: tuple[int, ...]
    why: str


class Thresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    odd_share: Number
    odd_nodes: Number
    usual_share: Number
    split_nodes: Number
    equal_size: Number
    memory_sizes_gib: Sizes
    prior_matmul: Number
    prior_memory: Number
    prior_copy: Number
    prior_weight: Number
    floor_matmul: Number
    floor_memory: Number
    floor_copy: Number
    least_k: Number
    chance: Number
    lagging_share: Number
    least_values: Number
    repeats: Number
    kinds_nodes: Number
    kinds_distance: Number
    kinds_share: Number
    link_share: Number
    link_pairs: Number

    def prior(self, kind: Kind) -> float:
        """The spread that a kind of figure has before anything was measured, as a share of its median."""
        return {"matmul": self.prior_matmul, "memory": self.prior_memory, "copy": self.prior_copy}[kind].value

    def floor(self, kind: Kind) -> float:
        """How far below the median a slow value is at least, as a share of it."""
        return {"matmul": self.floor_matmul, "memory": self.floor_memory, "copy": self.floor_copy}[kind].value


@lru_cache(maxsize=1)
def thresholds() -> Thresholds:
    """The table."""
    found: Any = json.loads(get_data(__package__, "thresholds.json") or b"{}")
    return convert(found, Thresholds)
