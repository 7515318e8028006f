"""Wheels that a project publishes outside PyPI, each built for one torch, CUDA, Python and C++ ABI: which one fits?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from .versions import numbers

if TYPE_CHECKING:
    from .rows_driver import Row
    from .rows_more import ExtensionWheel
    from .store import Store


class WheelChoice(msgspec.Struct, frozen=True):
    """A wheel's URL and version; or both empty, and the reason why there is none."""

    url: str
    version: str
    reason: str
    rows: tuple[Row, ...] = ()


def extension_wheel(
    m: Store,
    package: str,
    *,
    torch: str,
    cuda: str,
    python: str | None,
    abi: bool | None,
    platform: str,
    version: str = "",
) -> WheelChoice:
    """The newest wheel (or that of `version`) for this torch; `abi`: whether it has the new C++ ABI, None unknown."""
    rows = [row for row in m.extension_wheels if row.package == package and version in ("", row.version)]
    if not rows:
        return WheelChoice("", "", f"no wheels for {package} {version}".rstrip() + " are known")
    minor, major = ".".join(map(str, numbers(torch)[:2])), str(next(iter(numbers(cuda)), ""))
    short = ".".join(map(str, numbers(python)[:2])) if python else ""
    machine = platform.replace("_", " ")
    tests: tuple[tuple[Callable[[ExtensionWheel], bool], str], ...] = (
        (lambda row: platform in row.platforms, f"the project builds no wheels for {machine}"),
        (lambda row: minor in row.torch, f"the project has wheels for torch {{torch}}, not {minor}"),
        (lambda row: row.cuda == major, f"the project has no wheel for torch {minor} with CUDA {major or 'unknown'}"),
        (lambda row: short in row.pythons and f"{minor} {short}" not in row.absent,
         f"the project has no wheel for torch {minor} and Python {short or 'unknown'}"),
        (lambda row: abi is not None and str(abi).upper() in row.abis, "the C++ ABI of this torch is unknown"
         if abi is None else f"the project has no wheel for torch {minor} with the {'new' if abi else 'old'} C++ ABI"),
    )  # fmt: skip
    for holds, reason in tests:
        left = [row for row in rows if holds(row)]
        if not left:
            built = sorted({name for row in rows for name in row.torch}, key=numbers)
            span = built[0] if len(built) == 1 else f"{built[0]} to {built[-1]}"
            there = (
                "" if all("linux_x86_64" in row.platforms for row in rows) and "x86" in platform else f" on {machine}"
            )
            return WheelChoice("", "", reason.format(torch=span + there))
        rows = left
    row = rows[-1]
    url = row.url.format(
        version=row.version,
        cuda=row.cuda,
        torch=minor,
        abi=str(abi).upper(),
        platform=platform,
        python=f"cp{short.replace('.', '')}",
    )
    return WheelChoice(url, row.version, "", (row,))
