"""A requested package other than torch (a wish), and the release that answers it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from .versions import numbers

if TYPE_CHECKING:
    from .rows_driver import Row


class Wish(msgspec.Struct, frozen=True):
    """A package and its requested version: '' for any, '2.8', '==2.8.*', '>=0.10'."""

    package: str
    specifier: str = ""

    def __str__(self) -> str:
        sign = "==" if self.specifier and self.specifier[0].isdigit() else ""
        return f"{self.package}{sign}{self.specifier}"


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


@cache
def allowed(specifier: str, version: str) -> bool:
    """Whether a version is what was requested; an unreadable wish allows nothing."""
    if not specifier:
        return True
    if re.fullmatch(r"\d+(\.\w+)*", specifier):
        wanted = numbers(specifier)
        if ".post" in specifier:  # one release of several that have these numbers
            return version == specifier
        have = numbers(version)
        if have == wanted and ".post" in version:  # pip's ==2.8.3 never accepts 2.8.3.post1
            return False
        return version == specifier or have[: len(wanted)] == wanted
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidSpecifier:
        return False
