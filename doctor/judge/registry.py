"""The catalogue: every file in `doctor/checks/` is a check; there is no list to maintain by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module

from msgspec import Struct

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Snapshot

CheckFunction = Callable[["Snapshot", "Matrix", "Policy"], Findings]


class Registered(Struct, frozen=True):
    """A check as it is run."""

    id: str
    about: Check
    function: CheckFunction
    manual: str


def check_ids() -> list[str]:
    """All ids, sorted, without importing any check."""
    return list(_ids())


@cache
def _ids() -> tuple[str, ...]:
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "checks")  # noqa: PTH118, PTH120
    names = {name.partition(".")[0] for name in os.listdir(folder) if name.endswith((".py", ".pyc"))}  # noqa: PTH208
    return tuple(sorted(name.replace("_", "-") for name in names if not name.startswith("_")))


def load(check_id: str) -> Registered:
    """One check by id; KeyError if there is none."""
    if check_id not in _ids():
        raise KeyError(check_id)
    return _load(check_id)


def load_all() -> list[Registered]:
    """Every check of the catalogue."""
    return list(_all())


@cache
def _all() -> tuple[Registered, ...]:
    return tuple(_load(check_id) for check_id in _ids())


@cache
def _load(check_id: str) -> Registered:
    module = import_module(f"doctor.checks.{check_id.replace('-', '_')}")
    return Registered(check_id, module.CHECK, module.check, (module.__doc__ or "").strip())
