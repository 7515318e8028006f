"""A requested package other than torch (a wish), and the release that answers it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from .versions import is_same, numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .rows_driver import Row


class Wish(msgspec.Struct, frozen=True):
    """A package and its requested version: '' for any, '2.8' for every 2.8.*, '2.8.0' for that release, '>=0.10'.

    distribution: the requested one of a project with one per CUDA major ('cupy-cuda12x', 'jax-cuda13-plugin').
    """

    package: str
    specifier: str = ""
    distribution: str = ""

    def __str__(self) -> str:
        sign = "==" if self.specifier and self.specifier[0].isdigit() else ""
        return f"{self.distribution or self.package}{sign}{self.specifier}"


def distribution_of(name: str, extras: Iterable[str] = ()) -> tuple[str, str]:
    """('cupy', 'cupy-cuda12x') for one of several distributions, also for jax with the extra 'cuda13'; else (name, '').

    name: as PEP 503 writes it.
    """
    found = re.fullmatch(r"(cupy)-cuda\d+x|(jax)-cuda\d+-plugin", name)
    if found:
        return found[1] or found[2], name
    major = next(
        (one[1] for extra in extras if name == "jax" and (one := re.fullmatch(r"cuda(1\d)(?:-.*)?", extra))), ""
    )
    return name, f"jax-cuda{major}-plugin" if major else ""


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A version that answers a wish. requirement: as pip writes it; url: the wheel's, if it is not on an index; index:
    used along with torch's; rank: 0 for the newest release; python: what it requires of Python; unlisted: 'is not known
    to have a build for cu118', if it is only assumed to have one."""

    package: str
    version: str
    requirement: str
    url: str = ""
    index: str = ""
    rank: int = 0
    unlisted: str = ""
    gives_up: str = ""
    rows: tuple[Row, ...] = ()


def cuda_by_floor(floor: str) -> str:
    """The CUDA major of a build with this oldest driver ('525 (CUDA 12 ...)', '580'); '' for no such floor."""
    return {"450": "11", "525": "12", "580": "13"}.get(floor[:3], "")


def is_prefix(specifier: str) -> bool:
    """Whether a bare version stands for all its patches: '2.8', as people write it for 2.8.*."""
    return bool(re.fullmatch(r"\d+(\.\d+)?", specifier))


@cache
def allowed(specifier: str, version: str) -> bool:
    """Whether a version is what was requested, as PEP 440 compares them; an unreadable wish allows nothing."""
    if not specifier:
        return True
    if is_prefix(specifier):
        wanted = numbers(specifier)
        return (*numbers(version), 0, 0)[: len(wanted)] == wanted
    if specifier[0].isdigit():
        return is_same(version, specifier)
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return False
