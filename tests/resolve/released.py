"""The releases of the packages that `resolve` judges: those that the matrix lists, and made-up ones around them."""

from __future__ import annotations

from packaging.version import Version

from compat_matrix.framework_wishes import allowed_releases
from compat_matrix.wishes import EXTENSIONS, KNOWN, WHEELS, releases

from ..judging import matrix

_M = matrix()
PACKAGES = (*KNOWN, *sorted({row.package for row in _M.frameworks if row.package.startswith(("cupy-", "jax-"))}))
"""Also each distribution of a project with one per CUDA major."""


def listed(package: str) -> list[str]:
    """The releases in the matrix that can be judged, oldest first."""
    rows = [row for row in _M.frameworks if row.package == package or row.package.startswith(f"{package}-cuda")]
    tables = {
        **{one: releases(_M, one) for one in EXTENSIONS},
        **dict.fromkeys(WHEELS, _M.extension_wheels),
        **dict.fromkeys(("torchvision", "torchaudio"), _M.companion_rows),
    }
    found = {row.version for row in tables.get(package, ()) if row.package == package}
    found |= {one for row in rows for one in allowed_releases(row, "")}
    found |= {build.torch for build in _M.builds} if package == "torch" else set()
    return sorted(found, key=Version)


def made_up(package: str) -> list[str]:
    """For each listed release the next micro, a post-release, a release candidate, a development release, one in the
    gap after it and one of more numbers; and releases before the first and after the last."""
    have = {Version(one) for one in listed(package)}
    have |= {Version(row.version) for row in _M.extensions if row.package == package}  # also without a wheel
    found = [Version("0.0.0.1"), Version(f"{max(have).major + 3}.1.0")]
    for one in sorted(have):
        base, (*front, last) = one.base_version, (*one.release, 0, 0)[: max(3, len(one.release))]
        micro = ".".join(map(str, (*front, last + 1)))
        found += [Version(text) for text in (micro, f"{base}.post77", f"{micro}rc1", f"{micro}.dev2", f"{micro}.9")]
        found += [Version(f"{base}rc9"), Version(f"{base}.0.9")]
    return [str(one) for one in dict.fromkeys(found) if one not in have]
