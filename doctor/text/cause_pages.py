"""Causes that only a text can show: each is a file of `causes/`, its rows (`title: ...`) and its manual page."""

from __future__ import annotations

import os
from functools import lru_cache
from pkgutil import get_data
from typing import Any, get_args

from ..findings import Check, Findings, Layer, Matrix, NotExamined, Policy, Severity
from ..judge import Registered
from ..snapshot import Snapshot

_TUPLES = ("tags", "downstream_of")
_ONE_OF = {"severity": get_args(Severity), "layer": get_args(Layer)}
_FIELDS = frozenset(("title", "sound", "severity", "layer", "source", *_TUPLES))


def cause_ids() -> list[str]:
    """All ids, sorted, without reading any file."""
    folder = os.path.join(os.path.dirname(__file__), "causes")  # noqa: PTH118, PTH120
    return sorted(name.removesuffix(".txt") for name in os.listdir(folder) if name.endswith(".txt"))  # noqa: PTH208


@lru_cache(maxsize=1)
def load_causes() -> tuple[Registered, ...]:
    """Every cause, as a check that finds nothing by itself: the messages that decide it are in the catalogue."""
    return tuple(_load(name) for name in cause_ids())


def _load(name: str) -> Registered:
    text = (get_data(__package__, f"causes/{name}.txt") or b"").decode()
    rows, _, manual = text.partition("\n\n")
    return Registered(name, parse_cause(name, rows), _only_words, manual.strip())


def parse_cause(name: str, rows: str) -> Check:
    """What is constant about a cause, of lines `name: value`. ValueError where one is unknown or has no such value."""
    found: dict[str, Any] = {"needs_gpu": False}
    for row in rows.splitlines():
        key, _, value = row.partition(": ")
        key = key.replace("-", "_")
        if key not in _FIELDS or (key in _ONE_OF and value not in _ONE_OF[key]):
            raise ValueError(f"{name}: {row!r}")
        found[key] = tuple(value.split(", ")) if key in _TUPLES else value
    return Check(f"{__package__}.causes.{name.replace('-', '_')}", **found)


def _only_words(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    raise NotExamined("the text does not show it")
    yield  # pragma: no cover
