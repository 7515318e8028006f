"""Which torchvision, torchaudio, triton ... work with a torch version."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from .rows_torch import Companion
from .versions import TorchVersion, by_release, numbers, torch_version
from .wish import allowed

if TYPE_CHECKING:
    from .rows_driver import Row
    from .store import Store


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """A package and its versions that work with a torch version, newest last.

    relation: '==' (pinned to this torch), '>=' (any later torch too), 'any' (one of them names no torch, so it is
    unknown which index has it), '~=' and '==' for triton (what torch requires), 'built-for' (as the project puts it).
    """

    package: str
    versions: tuple[str, ...]
    relation: str
    rows: tuple[Row, ...] = ()

    @property
    def version(self) -> str:
        """The newest matching version."""
        return self.versions[-1]


class CompanionGrade(msgspec.Struct, frozen=True, kw_only=True):
    """grade: match, mismatch, unknown; expected: versions that match this torch; other_build: both have a build tag
    and the tags differ (torch +cu126 with torchvision +cpu)."""

    grade: str
    reason: str
    expected: tuple[str, ...] = ()
    other_build: bool = False
    rows: tuple[Row, ...] = ()


def _serves(row: Companion, torch: TorchVersion) -> bool:
    """Whether a listed package row works with a torch release."""
    if row.torch == "*":
        # No requirement in its metadata: built with the torch of its own number, kept with later ones.
        return torch.release[:2] >= numbers(row.version)[:2]
    wanted = numbers(row.torch)
    have = torch.release[: len(wanted)]
    return have >= wanted if row.relation == ">=" else have == wanted


def companions(m: Store, torch: str, package: str | None = None) -> tuple[Expected, ...]:
    """Packages that work with a torch release; none for nightly, vendor and unreadable versions."""
    parts = torch_version(torch)
    if parts is None or parts.kind != "release":
        return ()
    index = m.memo("companions by package", lambda: _by_package(m))
    names = list(index) if package is None else [package]
    found = ((name, [row for row in index.get(name, ()) if _serves(row, parts)]) for name in names)
    return tuple(_expected(name, rows) for name, rows in found if rows)


def _by_package(m: Store) -> dict[str, list[Companion]]:
    """Rows that may decide, by package."""
    index: dict[str, list[Companion]] = {}
    for row in m.companion_rows:
        if not row.yanked and row.confidence != "memory":
            index.setdefault(row.package, []).append(row)
    return index


def _expected(package: str, rows: list[Companion]) -> Expected:
    rows.sort(key=lambda row: by_release(row.version))
    versions = tuple(dict.fromkeys(row.version for row in rows))
    relation = "any" if any(row.relation == "any" for row in rows) else rows[-1].relation
    return Expected(package=package, versions=versions, relation=relation, rows=tuple(rows))


def expected(m: Store, torch: str, package: str) -> Expected | None:
    """The versions of one package that work with a torch release."""
    key = f"companion {package} of {torch}"
    return m.memo(key, lambda: next(iter(companions(m, torch, package)), None))


def free_release(m: Store, package: str, specifier: str) -> str:
    """The newest release that a specifier allows, if its metadata names no torch; else ''. An installer combines it
    with any torch. Example: torchaudio 2.11.0; it falls back to it from 2.11.1, which needs torch 2.11 or newer."""
    rows = [row for row in m.companion_rows if row.package == package and row.confidence != "memory" and not row.yanked]
    rows = [row for row in rows if row.relation in ("any", "==") and allowed(specifier, row.version)]
    last = max(rows, key=lambda row: by_release(row.version), default=None)
    return last.version if last and last.torch == "*" else ""


def companion_matches(m: Store, torch: str, package: str, version: str) -> CompanionGrade:
    """Grade an installed companion. Unlisted, unreleased and vendor versions are unknown, never a mismatch."""
    package = package.casefold().replace("_", "-")
    parts, own = torch_version(torch), torch_version(version)
    if parts is None or own is None or parts.kind != "release" or own.kind != "release":
        return CompanionGrade(grade="unknown", reason=f"torch {torch} or {package} {version} is not a listed release")
    rows = [row for row in m.companion_rows if row.package == package and row.confidence != "memory"]
    expectation = expected(m, torch, package)
    other = bool(parts.local and own.local and parts.local != own.local)

    def answer(grade: str, reason: str, row: Companion | None = None) -> CompanionGrade:
        cited = (row,) if row else expectation.rows if expectation else ()
        versions = expectation.versions if expectation else ()
        return CompanionGrade(grade=grade, reason=reason, expected=versions, other_build=other, rows=cited)

    if package == "triton":
        return _triton(rows, parts, own, answer)
    same = [row for row in rows if _same(row.version, own)]
    if not same:
        listed = [numbers(row.version) for row in rows]
        why = "newer than this matrix" if listed and own.release > max(listed) else "not listed in this matrix"
        return answer("unknown", f"{package} {version} is {why}")
    good = next((row for row in same if _serves(row, parts)), None)
    if good:
        return answer("match", f"{package} {version} matches torch {parts.base}", good)
    row = same[0]
    if row.relation in ("any", "built-for"):
        return answer(
            "unknown",
            f"{package} {version} requires no particular torch version, but was built with a different one",
            row,
        )
    wanted = " or ".join(("torch" + ("==" if r.relation == "==" else r.relation) + r.torch) for r in same)
    return answer("mismatch", f"{package} {version} needs {wanted}, but torch is {parts.base}", row)


def _same(listed: str, own: TorchVersion) -> bool:
    wanted = numbers(listed)
    return (*wanted, 0, 0, 0)[: len(own.release)] == own.release


def _triton(
    rows: list[Companion], parts: TorchVersion, own: TorchVersion, answer: Callable[..., CompanionGrade]
) -> CompanionGrade:
    """triton names no torch; torch names its triton."""
    row = next((row for row in rows if row.torch == parts.base), None)
    if row is None:
        return answer("unknown", f"the triton version for torch {parts.base} is not listed in this matrix")
    length = 2 if row.relation == "~=" else 3
    wanted = (*numbers(row.version), 0, 0, 0)[:3]
    if own.release[:length] == wanted[:length] and own.release[:3] >= wanted:
        return answer("match", f"torch {parts.base} requires triton {row.relation}{row.version}", row)
    return answer("mismatch", f"torch {parts.base} requires triton {row.relation}{row.version}, not {own.base}", row)
