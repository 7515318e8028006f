"""The torch that an installer would choose today if a command leaves it open: for images not built yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.installer import installer_takes
from compat_matrix.versions import numbers, tag_cuda

from .installs import TorchInstall, removes, torch_installs

if TYPE_CHECKING:
    from compat_matrix import Matrix

_PYTHONS = ("3.10", "3.11", "3.12", "3.13")
"""If the image's Python is unknown: the oldest torch that one of these gets, if all get the same CUDA major version."""
_TORCH = ("torch", "pytorch")


def chosen_in(
    m: Matrix, shells: Iterable[tuple[str, Mapping[str, str]]], platform: str, python: str, have: str = ""
) -> list[tuple[TorchInstall, ...]]:
    """For each shell text with its variables: its torch installs, as the installers choose. have: the torch in the base
    image.

    An installed torch that satisfies the requirement is kept, unless it is upgraded or was uninstalled: such a command
    installs none.
    """
    found = []
    for shell, env in shells:
        if removes(shell, _TORCH):
            have = ""
        made = []
        for one in torch_installs(shell, env):
            if have and not one.upgrades and not one.pinned_by and _allows(one.specifier, have):
                continue
            made.append(chosen(m, one, platform, python))
            have = made[-1].version.partition("+")[0] or "0"
        found.append(tuple(made))
    return found


def chosen(m: Matrix, one: TorchInstall, platform: str, python: str) -> TorchInstall:
    """With the version and build that the installer chooses if no torch is installed; unchanged if that is unknown."""
    if one.installer not in ("pip", "uv") or one.pinned_by or "+" in one.version:
        return one
    pythons = (python,) if python or one.version else _PYTHONS
    found = [installer_takes(m, one.installer, one.specifier, one.indexes, platform, each) for each in pythons]  # type: ignore[arg-type]
    known = [taken for taken in found if taken is not None]
    if len(known) < len(found) or len({(tag_cuda(each.tag) or "").partition(".")[0] for each in known}) != 1:
        return one
    taken = min(known, key=lambda each: numbers(each.torch))
    build = "cuda" if taken.tag.startswith("cu") else taken.tag.rstrip("0123456789.")
    return replace(one, version=taken.torch, tag=taken.tag, build=build, choice=taken.sentence)


def _allows(specifier: str, version: str) -> bool:
    """Whether the installed version satisfies the requirement; '0' means an unknown version."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion

    if not specifier:
        return True
    try:
        return SpecifierSet(specifier, prereleases=True).contains(version)
    except (InvalidSpecifier, InvalidVersion):
        return False
