"""What a torch build requires, according to its metadata, and whether another requirement agrees with that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from .torchs import pypi_tag
from .versions import numbers

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from .store import Store

_CUDA = re.compile(
    r"nvidia-(?:cublas|cuda-(?:cupti|nvrtc|runtime)|cudnn|cufft|cufile|curand|cusolver|cusparse|cusparselt|nccl"
    r"|nvjitlink|nvshmem|nvtx)(?:-cu\d\d)?|cuda-(?:toolkit|bindings|pathfinder)"
)
"""Packages with CUDA libraries that a torch wheel has required: itself, or through cuda-toolkit's extras."""


class Asks(msgspec.Struct, frozen=True, kw_only=True):
    """One package: specifier as torch writes it, '' for any version."""

    name: str
    specifier: str


def is_cuda_wheel(name: str) -> bool:
    """Whether torch's wheels bring this package as a CUDA library."""
    return bool(_CUDA.fullmatch(name))


def torch_asks(m: Store, torch: str, tag: str, platform: str, python: str = "") -> tuple[Asks, ...] | None:
    """What torch `torch` with `tag` requires, except unknown CUDA wheels; None for an unlisted release."""
    from packaging.requirements import Requirement

    row = next((row for row in m.requires_rows if row.torch == torch), None)
    if row is None:
        return None
    linux = platform != "windows"
    about = {
        "python_version": python.rstrip("t") or "3.12",
        "platform_machine": "aarch64" if platform.endswith("aarch64") else "x86_64",
        "platform_system": "Linux" if linux else "Windows",
        "sys_platform": "linux" if linux else "win32",
    }
    own = linux and platform.endswith("x86_64") and pypi_tag(m, torch, platform) == tag
    found = []
    for text in (*row.requires, *(row.cuda if own else ())):
        need = Requirement(text)
        if _holds(need.marker, about):
            found.append(Asks(name=need.name, specifier=str(need.specifier)))
    return tuple(found)


def _holds(marker: object, about: Mapping[str, str]) -> bool:
    return marker is None or bool(marker.evaluate(dict(about)))  # type: ignore[attr-defined]


def agree(one: str, other: str) -> bool:
    """Whether some version fulfills both specifiers; unreadable ones agree with nothing."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        both = SpecifierSet(one) & SpecifierSet(other)
    except InvalidSpecifier:
        return False
    return any(both.contains(version, prereleases=True) for version in _candidates(both))


def _candidates(specifiers: SpecifierSet) -> list[str]:
    """Versions at and around each that the specifiers name: if any version fulfills them, one of these does."""
    found = ["0", "99999"]
    for one in specifiers:
        base = one.version.removesuffix(".*")
        parts = numbers(base)
        below = (*parts[:-1], max(parts[-1] - 1, 0), 99999) if parts else (0,)
        found += [base, f"{base}.1", f"{base}.post1", ".".join(map(str, below))]
    return found
