"""A wish for a release that the matrix does not list, and the neighboring releases that it does list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from .framework_wishes import FRAMEWORKS, framework_rows
from .served import chooser
from .versions import numbers
from .wish import Wish, allowed
from .wishes import EXTENSIONS, WHEELS

if TYPE_CHECKING:
    from .store import Store


class Unlisted(msgspec.Struct, frozen=True, kw_only=True):
    """A wish that no listed release answers. below, above: the listed releases on either side, '' for none."""

    wish: Wish
    below: str = ""
    above: str = ""
    is_source: bool = False
    """The matrix lists the release, but no wheel of it."""

    @property
    def pin(self) -> str:
        """The one requested version; '' for a range."""
        found = re.fullmatch(r"(?:==)?(\d+(?:\.\w+)*)", self.wish.specifier)
        return found[1] if found else ""

    @property
    def name(self) -> str:
        """`vllm 0.31.0`, `vllm >=0.31,<0.32`."""
        return f"{self.wish.package} {self.pin or self.wish.specifier}"


def unlisted(m: Store, wish: Wish) -> Unlisted | None:
    """The wish with its neighbors, if the matrix knows the package but lists no release that the wish allows."""
    if not wish.specifier:
        return None
    have = _versions(m, wish.package)
    test = chooser(wish.specifier.partition("+")[0]) if wish.package in _TORCH else None
    if not have or any(test(one) if test else allowed(wish.specifier, one) for one in have):
        return None
    if wish.package in FRAMEWORKS and framework_rows(m, wish):
        return None
    first = numbers(next(iter(re.findall(r"\d+(?:\.\d+)*", wish.specifier)), ""))
    ordered = sorted(have, key=numbers)
    below = [one for one in ordered if numbers(one) <= first]
    above = [one for one in ordered if numbers(one) > first]
    found = Unlisted(wish=wish, below=below[-1] if below else "", above=above[0] if above else "")
    is_source = any((row.package, row.version) == (wish.package, found.pin) for row in m.extensions)
    return msgspec.structs.replace(found, is_source=is_source)


_TORCH = ("torch", "torchvision", "torchaudio")


def _versions(m: Store, package: str) -> frozenset[str]:
    """Every release of a package that the matrix lists; none for an unknown package."""
    known: dict[str, frozenset[str]] = m.memo("versions by package", dict)
    if package not in known:
        if package == "torch":
            found = {build.torch for build in m.builds}
        elif package in _TORCH:
            found = {row.version for row in m.companion_rows if row.package == package}
        elif package in EXTENSIONS:
            found = {row.version for row in m.extensions if row.package == package}
        elif package in WHEELS:  # the other table has releases without wheels listed
            found = {row.version for row in m.extension_wheels if row.package == package}
        elif package in FRAMEWORKS:
            found = {row.version for row in framework_rows(m, Wish(package))}
        else:
            found = set()
        known[package] = frozenset(found)
    return known[package]
