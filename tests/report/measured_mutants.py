"""Measurements with holes, and measurements by an enemy: what renderers must step around."""

from __future__ import annotations

import random
from typing import Any, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from doctor.snapshot import Missing
from doctor.snapshot.measured import Measured

from .samples import HOSTILE

_KEPT = {"kind", "device", "key", "phase", "group", "agent", "source", "target"}
"""Text that others look up by, or that the reader of agents' lines holds to a list."""


def _may_be_missing(owner: type, name: str) -> bool:
    return Missing in get_args(get_type_hints(owner)[name])


def _is_free_text(owner: type, name: str) -> bool:
    return get_type_hints(owner)[name] is str and name not in _KEPT


def with_holes(node: Any, seed: random.Random, share: float) -> Any:
    """The same with a share of the facts missing, and of the items of its lists gone."""
    changes: dict[str, Any] = {}
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if isinstance(node, Measured) and name == "level":
            continue
        if _may_be_missing(type(node), name) and seed.random() < share:
            changes[name] = Missing(
                seed.choice(["absent", "denied", "timeout", "error", "not-asked"]), "the reason why"
            )
        elif isinstance(value, tuple) and value and isinstance(value[0], Struct):
            changes[name] = tuple(with_holes(item, seed, share) for item in value if seed.random() >= share)
        elif isinstance(value, Struct) and not isinstance(value, Missing):
            changes[name] = with_holes(value, seed, share)
    return replace(node, **changes)


def by_an_enemy(node: Any) -> Any:
    """The same with every free text made hostile."""
    changes: dict[str, Any] = {}
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if _is_free_text(type(node), name):
            changes[name] = HOSTILE
        elif isinstance(value, tuple) and value and isinstance(value[0], Struct):
            changes[name] = tuple(by_an_enemy(item) for item in value)
        elif isinstance(value, Struct) and not isinstance(value, Missing):
            changes[name] = by_an_enemy(value)
    return replace(node, **changes)
