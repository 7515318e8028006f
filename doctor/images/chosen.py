"""A torch that a command leaves open, as its installer would choose it today: for images that are yet to be built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.installer import installer_takes

from .installs import TorchInstall

if TYPE_CHECKING:
    from compat_matrix import Matrix

_PYTHONS = ("3.10", "3.11", "3.12", "3.13")
"""Where the image's Python is not known: what all of these get."""


def chosen(m: Matrix, one: TorchInstall, platform: str, python: str) -> TorchInstall:
    """With the version and build that the installer takes; as it is where that is not known."""
    if one.installer not in ("pip", "uv") or one.pinned_by or "+" in one.version:
        return one
    pythons = (python,) if python or one.version else _PYTHONS
    found = {installer_takes(m, one.installer, one.specifier, one.indexes, platform, each) for each in pythons}  # type: ignore[arg-type]
    if len(found) != 1 or (taken := found.pop()) is None:
        return one
    build = "cuda" if taken.tag.startswith("cu") else taken.tag.rstrip("0123456789.")
    return replace(one, version=taken.torch, tag=taken.tag, build=build, choice=taken.sentence)
