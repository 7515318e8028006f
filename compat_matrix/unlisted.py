"""A wish for a release that the matrix does not list, and the neighboring releases that it does list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from .framework_wishes import FRAMEWORKS, allowed_releases, framework_rows
from .served import chooser
from .versions import by_release, is_same
from .wish import Wish
from .wishes import EXTENSIONS, WHEELS, releases

if TYPE_CHECKING:
    from .store import Store


class Unlisted(msgspec.Struct, frozen=True, kw_only=True):
    """A wish that no listed release answers. below, above: the listed releases on either side, '' for none; all that a
    range allows is between them."""

    wish: Wish
    below: str = ""
    above: str = ""
    is_source: bool = False
    """The matrix lists the release, but no wheel of it."""
    is_open: bool = False
    """The matrix lists the release, but not which torch it works with."""

    @property
    def pin(self) -> str:
        """The one requested version; '' for a range."""
        found = re.fullmatch(r"(?:={2,3})?\s*(v?\d[\w.!+-]*)", self.wish.specifier)
        return found[1] if found else ""

    @property
    def requirement(self) -> str:
        """What follows the name of the package in a line for pip: `==0.31.0`, `>=0.31.2,<0.31.5`."""
        return f"=={self.pin}" if self.pin else self.wish.specifier

    @property
    def is_empty(self) -> bool:
        """Whether no version can be in the range: `>0.32,<0.31`."""
        bounds = ["0", *re.findall(r"\d(?:[\w.]*\w)?", self.wish.specifier)]
        within = chooser(self.wish.specifier)
        return not self.pin and not any(within(bound + more) for bound in bounds for more in ("", ".0.0.1"))

    @property
    def name(self) -> str:
        """`vllm 0.31.0`, `vllm >=0.31,<0.32`."""
        return f"{self.wish.distribution or self.wish.package} {self.pin or self.wish.specifier}".rstrip()


def unlisted(m: Store, wish: Wish) -> Unlisted | None:
    """The wish with its neighbors, if the matrix knows the package but lists no release that the wish allows."""
    have = _versions(m, wish)
    if not have:
        return Unlisted(wish=wish) if wish.distribution else None
    if not wish.specifier or any(map(chooser(wish.specifier), have)):
        return None
    if left_out := re.findall(r"!=\s*[^,\s]+", wish.specifier):  # they are no neighbors
        have = tuple(filter(chooser(",".join(left_out)), have))
    bounds = re.sub(r"!=\s*[^,\s]+,?\s*", "", wish.specifier)
    first = by_release(next(iter(re.findall(r"\d[\w.!-]*", bounds)), "").rstrip("."))
    is_below = bounds.startswith("<")  # of nothing but older releases
    before = [one for one in have if by_release(one) < first or (by_release(one) == first and not is_below)]
    after = have[len(before) :]
    found = Unlisted(wish=wish, below=before[-1] if before else "", above=after[0] if after else "")
    row = next((row for row in m.extensions if row.package == wish.package and is_same(row.version, found.pin)), None)
    is_source = row is not None and (wish.package in WHEELS or row.platforms == "sdist only")
    return msgspec.structs.replace(found, is_source=is_source, is_open=row is not None and not is_source)


TORCH = ("torch", "torchvision", "torchaudio")
"""Those whose releases belong to one release of torch."""


def _versions(m: Store, wish: Wish) -> tuple[str, ...]:
    """Every release of a package that the matrix lists, oldest first; none for an unknown package."""
    known: dict[tuple[str, str], tuple[str, ...]] = m.memo("versions by package", dict)
    package = wish.package
    key = (package, wish.distribution)
    if key not in known:
        if package == "torch":
            found = {build.torch for build in m.builds}
        elif package in TORCH:
            found = {row.version for row in m.companion_rows if row.package == package}
        elif package in EXTENSIONS:
            found = {row.version for row in releases(m, package)}
        elif package in WHEELS:  # the other table has releases without wheels listed
            found = {row.version for row in m.extension_wheels if row.package == package}
        elif package in FRAMEWORKS:
            rows = framework_rows(m, Wish(package, distribution=wish.distribution))
            found = {one for row in rows for one in allowed_releases(row, "")}
        else:
            found = set()
        known[key] = tuple(sorted(found, key=lambda one: (by_release(one), one)))
    return known[key]
