"""Which torch an installer would choose today from the indexes that a command names.

pip takes the highest version on any index (a local version such as +cu118 beats the same version without one); uv takes
the first index that has the package at all, extra indexes before the default one. conda is not covered: its solver also
looks at the machine. Sources: pip's documentation of --extra-index-url (no index has priority), PEP 440, uv's
documentation of index strategies (first-index).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from .torchs import index_url, pypi_tag, python_for_torch, torch_build, usable
from .versions import numbers

if TYPE_CHECKING:
    from .store import Store

PYPI = "pypi"
INDEX_TAG = re.compile(r"/(cu\d{2,3}|cpu|rocm[\d.]+|xpu)(?:/(?:torch_stable|torch)\.html|/torch)?/?$")
_MIRROR = re.compile(r"pypi(?!\.(?:ngc\.)?nvidia)|/simple/?$")
_OWN_BUILDS = re.compile(r"/[\w.-]*(?:rocm|cuda|cpu|xpu|gaudi|jetson|\bcu\d\d)[\w.-]*/")
"""A folder of builds for one kind of device, which no mirror of PyPI has."""
Installer = Literal["pip", "uv"]


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """A build: torch ('2.15.0'), tag ('cu132', 'cpu'), the index that it comes from (a tag, or 'pypi').

    date: of the rows that the choice is based on; a later release changes the answer.
    """

    torch: str
    tag: str
    index: str
    installer: Installer
    date: str

    @property
    def sentence(self) -> str:
        """Which installer chooses it, from where, and as of when."""
        where = "PyPI" if self.index == PYPI else f"the index {self.index}"
        rule = (
            "it is the highest version on its indexes"
            if self.installer == "pip"
            else "it is the first index with torch"
        )
        return f"{self.installer} chooses torch {self.torch}+{self.tag} from {where} because {rule} (as of {self.date})"


def index_source(url: str) -> str:
    """The tag of a PyTorch index or find-links page, 'pypi' for PyPI and its mirrors, else the URL."""
    tag = INDEX_TAG.search(url.rstrip("/"))
    if tag and "/nightly/" not in url:
        return tag[1]
    return PYPI if _MIRROR.search(url) and not _OWN_BUILDS.search(f"{url}/") else url


def installer_takes(
    m: Store,
    installer: Installer,
    specifier: str,
    indexes: Sequence[str],
    platform: str = "linux_x86_64",
    python: str = "",
) -> Taken | None:
    """The build that `specifier` ('', '==2.6.0', '>=2.1,<2.5') selects from these indexes, in the command's order.

    indexes: tags of PyTorch's indexes and 'pypi', the default index last. None if nothing on them fulfills it or an
    index is unknown.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(specifier)
    except InvalidSpecifier:
        return None
    held = [(one, _held(m, one, platform)) for one in dict.fromkeys(indexes)]
    if any(versions is None for _, versions in held):
        return None
    if installer == "uv":
        held = [one for one in held if one[1]][:1]
    found = [
        (numbers(torch), local, torch, tag, index)
        for index, versions in held
        for torch, local, tag in versions or ()
        if allowed.contains(f"{torch}+{local}" if local else torch)
        and (not python or python_for_torch(m, torch, python, platform).grade == "ok")
    ]
    if not found:
        return None
    _, _, torch, tag, index = max(found)
    return Taken(torch=torch, tag=tag, index=index, installer=installer, date=m.version)


def _held(m: Store, index: str, platform: str) -> list[tuple[str, str, str]] | None:
    """(torch, local version, tag) of each release that an index has for a platform; None for an unknown index."""
    if index == PYPI:
        tags = [(row.torch, pypi_tag(m, row.torch, platform)) for row in m.releases]
        return [(torch, "", tag) for torch, tag in tags if tag and tag != "none"]
    if index == "cpu":
        return [(row.torch, "cpu", "cpu") for row in m.releases]
    row = index_url(m, index)
    if row is None or not row.torch:
        return None
    if not index.startswith("cu"):
        return [(torch, index, index) for torch in row.torch] if platform in row.platforms else []
    builds = [(torch, torch_build(m, torch, index, platform)) for torch in row.torch]
    return [(torch, index, index) for torch, build in builds if build and usable(build)]


def nightly_ended(m: Store, tag: str) -> str:
    """The last release ('2.11.0') that was built for a CUDA tag, if it is not the newest one; else ''.

    Nightly wheels are built only for the tags of the upcoming release.
    """
    row = index_url(m, tag)
    newest = max((row.torch for row in m.releases), key=numbers)
    if row is None or not row.torch or newest in row.torch:
        return ""
    return max(row.torch, key=numbers)
