"""Which facts of two machines are compared, what they are called, and which are not: `facts.json` says so.

A path names a fact, `driver.kernel_version`, and of a list's item with its key: `host.environment[CC]`,
`python.distributions[numpy].version`. Facts of each GPU begin with `gpus.`.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pkgutil import get_data
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct, convert

Group: TypeAlias = Literal[
    "driver",
    "container",
    "CUDA libraries",
    "Python packages",
    "environment variables",
    "hardware",
    "limits",
    "system",
]
GROUPS: tuple[Group, ...] = get_args(Group)
"""In the order in which they are shown."""
_KEY = re.compile(r"\[(.*?)\](?=[.\[]|$)")


class Compared(Struct, frozen=True):
    """How one field of the Snapshot is compared."""

    label: str
    """`GPU's VBIOS`; of an item of a list its key follows."""
    unit: str = ""
    size: bool = False
    """A memory size: values within `equal_size` are equal."""
    same_as: str = ""
    """Path of the fact that it repeats or follows: where both are odd on the same nodes, they are one line."""
    other: tuple[str, ...] = ()
    """Patterns of keys that differ by nature."""
    words: dict[str, str] = {}
    """Of a number that stands for a state: what each means."""
    users: bool = False
    """Of a user's Python and CUDA, of which a node has many: it makes no node odd."""


class Facts(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file: every field of a Snapshot is in one of the first three, itself or below one of its paths.

    by_nature: path to why it differs between healthy nodes, or from minute to minute: never compared, by nothing.
    covered: path to what already compares or judges it: a whole comparison of two machines may show it.
    groups: path to the group of it and of all facts below it that have no other, each one of `GROUPS`.
    answers: what a driver or torch answered when it was asked, here or below. Nobody changes these themselves: they
    explain nothing that another fact explains.
    names: path to what a fact that is not compared is called, and of a list to what one of its items is.
    """

    compared: dict[str, Compared]
    by_nature: dict[str, str]
    covered: dict[str, str]
    groups: dict[str, Group]
    answers: tuple[str, ...]
    names: dict[str, str]


@lru_cache(maxsize=1)
def facts() -> Facts:
    """The table."""
    found: Any = json.loads(get_data(__package__, "facts.json") or b"{}")
    return convert(found, Facts)


def compared(path: str) -> Compared | None:
    """How a fact is compared across nodes; None if it is not."""
    row = _row(path)
    key = key_of(path)
    return None if row is None or (key and any(fnmatchcase(key, pattern) for pattern in row.other)) else row


def differs_by_nature(path: str) -> bool:
    """Whether healthy machines of one kind differ in it."""
    return _is_named(field_of(path)) or (_row(path) is not None and compared(path) is None)


@lru_cache(maxsize=4096)
def _is_named(field: str) -> bool:
    parts = field.split(".")
    return any(".".join(parts[:count]) in facts().by_nature for count in range(1, len(parts) + 1))


def label(path: str) -> str:
    """What to call a fact: `driver`, `variable CC`; the path itself where it has no name."""
    row = None if path.endswith("]") and field_of(path) in facts().names else _row(path)
    name = row.label if row else facts().names.get(field_of(path))
    return f"{name} {key_of(path)}".rstrip() if name else path


def is_answer(path: str) -> bool:
    """Whether it is what a driver or torch answered; of the GPUs only their list is."""
    field = field_of(path)
    return any(field == name or (name != "gpus" and field.startswith(f"{name}.")) for name in facts().answers)


@lru_cache(maxsize=4096)
def group_of(path: str) -> Group:
    """The group that a fact belongs to; `system` if none of its path has one."""
    parts = field_of(path).split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((facts().groups[name] for name in names if name in facts().groups), "system")


def field_of(path: str) -> str:
    """The path without the keys of a list's items."""
    return _KEY.sub("", path)


def key_of(path: str) -> str:
    """`CC` of `host.environment[CC]`; empty if there is none."""
    return ", ".join(_KEY.findall(path))


def _row(path: str) -> Compared | None:
    """A name with its value, such as a variable, is a fact without `.value`."""
    table, field = facts().compared, field_of(path)
    return table.get(field) or (table.get(f"{field}.value") if "[" in path else None)
