"""Rules and what they found. The texts of the rules are in `rules.json`."""

from __future__ import annotations

import json
from functools import lru_cache
from pkgutil import get_data
from typing import Any, Literal

from msgspec import Struct, convert

from ..source import Image
from .pinned import Pinned


class Rule(Struct, frozen=True, kw_only=True):
    """One rule. status: fail, warn, or info for a note; check: the check whose page says more."""

    id: str
    status: Literal["fail", "warn", "info"]
    title: str
    fix: str
    source: str
    check: str = ""


class Fault(Struct, frozen=True, kw_only=True):
    """A rule broken at a line (from 1) of a file; fix: '' for the rule's own."""

    rule: str
    line: int
    detail: str
    fix: str = ""


class Extension(Struct, frozen=True, kw_only=True):
    """What a line compiles, and the GPUs that its variable names: capabilities with machine code and with PTX."""

    line: int
    package: str
    variable: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    cuda: str
    """The compiler's version, major.minor; '' if the base does not say."""


class Recipe(Struct, frozen=True, kw_only=True):
    """kind: dockerfile, compose, kubernetes. images: what the Dockerfile would build, as far as it says itself; several
    if the base's name leaves its driver condition open."""

    name: str
    kind: str
    faults: tuple[Fault, ...]
    images: tuple[Image, ...] = ()
    extensions: tuple[Extension, ...] = ()
    choice: str = ""
    """A sentence about which torch the installer would choose today, if the file leaves it open."""
    base: str = ""
    unresolved: tuple[str, ...] = ()
    """Variables in FROM that nothing sets: then nothing is judged by the base."""
    undeclared: tuple[str, ...] = ()
    """Those without an ARG before the first FROM: --build-arg cannot set them."""
    base_line: int = 1
    """Where a Dockerfile names its base."""
    pinned: tuple[Pinned, ...] = ()
    system: tuple[str, str] = ("", "")
    """ID and version of the base's system, as far as its name says."""
    cuda: str = ""
    """The CUDA of the base, as exact as its tag says, if no line may install a torch with its own."""


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """Id to rule, in the order of the file."""
    found: Any = json.loads(get_data(__package__, "rules.json") or b"[]")
    return {rule.id: rule for rule in convert(found, list[Rule])}
