"""Questions about torch releases, their builds and the Pythons they have wheels for."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, cast

import msgspec

from .code import code_for_gpu
from .rows_torch import IndexUrl, TorchBuild, TorchRelease
from .versions import TorchVersion, numbers, tag_cuda, torch_version

if TYPE_CHECKING:
    from .rows_driver import Row
    from .store import Store


class TorchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """status: known (a listed release), newer-than-matrix, unlisted, nightly, vendor, prerelease, unreadable.
    release is the row with the same base version, if there is one (also for nightly and vendor builds)."""

    status: str
    base: str = ""
    tag: str | None = None
    local: str = ""
    release: TorchRelease | None = None


class PythonGrade(msgspec.Struct, frozen=True):
    """grade: ok, too-old, too-new, no-wheel (between listed ones, e.g. a free-threaded build), unknown."""

    grade: str
    reason: str
    pythons: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


def release_row(m: Store, base: str) -> TorchRelease | None:
    """The row of a release by its bare version '2.6.0'."""
    index: dict[str, TorchRelease] = m.memo("torch by version", lambda: {row.torch: row for row in m.releases})
    return index.get(base)


def torch_release(m: Store, version: str) -> TorchAnswer:
    """What the matrix knows about a torch version."""
    parts = torch_version(version)
    if parts is None:
        return TorchAnswer(status="unreadable")
    row = release_row(m, parts.base)
    if parts.kind != "release":
        status = parts.kind
    elif row:
        status = "known"
    else:
        status = "newer-than-matrix" if parts.release > newest(m) else "unlisted"
    return TorchAnswer(status=status, base=parts.base, tag=parts.tag, local=parts.local, release=row)


def newest(m: Store) -> tuple[int, ...]:
    """The newest torch release listed."""
    return max(numbers(row.torch) for row in m.releases)


def torch_builds(m: Store, version: str, platform: str | None = None) -> tuple[TorchBuild, ...]:
    """Builds of a release; none for nightly, vendor and other unreleased versions (their lists differ)."""
    parts = torch_version(version)
    if parts is None or parts.kind != "release":
        return ()
    index: dict[str, list[TorchBuild]] = m.memo("builds by torch", lambda: _by_torch(m))
    return tuple(b for b in index.get(parts.base, ()) if platform is None or b.platform == platform)


def _by_torch(m: Store) -> dict[str, list[TorchBuild]]:
    index: dict[str, list[TorchBuild]] = {}
    for row in m.builds:
        index.setdefault(row.torch, []).append(row)
    return index


def usable(build: TorchBuild) -> bool:
    """Whether a build may be recommended: known to be on an index, its architectures not from memory."""
    return build.published == "yes" and build.confidence != "memory"


def torch_build(m: Store, version: str, tag: str, platform: str = "linux_x86_64") -> TorchBuild | None:
    """One build, e.g. ('2.8.0', 'cu128')."""
    return next((row for row in torch_builds(m, version, platform) if row.tag == tag), None)


def torch_preloads(m: Store, version: str) -> tuple[str, ...] | None:
    """The CUDA libraries that a release loads from its own wheels on import; None for one without a row."""
    parts = torch_version(version)
    if parts is None or parts.kind != "release":
        return None
    rows = [row for row in m.preload_rows if numbers(row.torch) <= numbers(parts.base)]
    return max(rows, key=lambda row: numbers(row.torch)).libraries if rows else None


def index_url(m: Store, tag: str) -> IndexUrl | None:
    """The PyTorch wheel index of a tag ('cu126', 'cpu', 'rocm6.4')."""
    return next((row for row in m.index_urls if row.tag == tag), None)


def torch_for(m: Store, capability: str, platform: str = "linux_x86_64") -> tuple[TorchBuild, ...]:
    """Published builds with SASS for a capability, newest torch first."""
    found = [
        build
        for build in m.builds
        if build.platform == platform
        and usable(build)
        and code_for_gpu(m, capability, build.sass, (), build_cuda=tag_cuda(build.tag)).kind == "sass"
    ]
    return tuple(sorted(found, key=lambda build: numbers(build.torch), reverse=True))


def pypi_tag(m: Store, version: str, platform: str = "linux_x86_64") -> str | None:
    """The CUDA tag of a plain PyPI install: 'cu130', 'cpu', 'none' if PyPI has no wheel, None if not listed."""
    row = torch_release(m, version).release
    return cast("str | None", getattr(row, f"pypi_{platform}", None))


@cache
def _python(text: str) -> tuple[tuple[int, int], bool] | None:
    found = re.match(r"\s*(\d+)\.(\d+)[\d.]*(t?)", text)
    return ((int(found[1]), int(found[2])), bool(found[3])) if found else None


def python_for_torch(m: Store, torch: str, python: str, platform: str = "linux_x86_64") -> PythonGrade:
    """Grade a Python version against the wheels of a torch release."""
    parts: TorchVersion | None = torch_version(torch)
    row = release_row(m, parts.base) if parts and parts.kind == "release" else None
    wanted = _python(python)
    if row is None or wanted is None:
        return PythonGrade("unknown", f"torch {torch} or Python {python} is not listed in this matrix")
    listed = cast("tuple[str, ...]", getattr(row, f"pythons_{platform}", ()))
    answer = (listed, (row,))
    wheels = [found for text in (*listed, *row.pythons_index_only) if (found := _python(text))]
    if not listed:
        return PythonGrade("unknown", f"no torch {row.torch} wheels for {platform} are listed", *answer)
    name = f"{wanted[0][0]}.{wanted[0][1]}{'t' if wanted[1] else ''}"
    if wanted in wheels:
        return PythonGrade("ok", f"torch {row.torch} has wheels for Python {name}", *answer)
    plain = [version for version, threaded in wheels if not threaded]
    span = f"torch {row.torch} has wheels for Python {' '.join(listed)}"
    if wanted[0] < min(plain):
        return PythonGrade("too-old", f"{span}, not for the older {name}", *answer)
    if wanted[0] > max(plain):
        return PythonGrade("too-new", f"{span}, not for the newer {name}", *answer)
    return PythonGrade("no-wheel", f"{span}, not for {name}", *answer)


def torch_for_python(m: Store, python: str, platform: str = "linux_x86_64") -> tuple[TorchRelease, ...]:
    """Releases with a wheel for this Python, newest first."""
    rows = [row for row in m.releases if python_for_torch(m, row.torch, python, platform).grade == "ok"]
    return tuple(sorted(rows, key=lambda row: numbers(row.torch), reverse=True))
