"""Questions about drivers: against a CUDA version and against a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from .code import compute_capability
from .rows_driver import DriverBranch, Row, Toolkit
from .versions import minor, numbers

if TYPE_CHECKING:
    from .rows_gpu import Gpu
    from .store import Store

Platform = Literal["linux", "windows"]
NEWER = "newer than this matrix"
_OLDEST = 100
"""Anything lower is not a driver branch (a CUDA version mistaken for one)."""
ABOVE_ALL = ".999"
"""Suffix for a version that means the newest of a branch, if the matrix does not list one (Windows)."""


class BranchAnswer(msgspec.Struct, frozen=True):
    """status: known, newer-than-matrix, or unknown (unreadable, or a branch between listed ones)."""

    status: str
    row: DriverBranch | None = None


class DriverGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A driver against the CUDA version of a build.

    grade: native, minor-version, needs-forward-compat, impossible, unknown. cuda_reported: the CUDA version that this
    branch reports; floor_full and floor_minor: lowest driver with all features and lowest for any minor of the major;
    limits: 'sass-only' under minor-version compatibility (no JIT of PTX newer than the driver), else ''.
    """

    grade: str
    reason: str
    cuda_reported: str = ""
    floor_full: str = ""
    floor_minor: str = ""
    limits: str = ""
    newer_than_matrix: bool = False
    confidence: str = ""
    rows: tuple[Row, ...] = ()


class DriverGpuGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A driver against a compute capability.

    grade: ok, too-old, too-new, needs-open-module, open-module-unsupported, unknown. first_driver, last_driver:
    branches between which this capability is supported (None: not known, or still supported).
    """

    grade: str
    reason: str
    first_driver: int | None = None
    last_driver: int | None = None
    newer_than_matrix: bool = False
    rows: tuple[Row, ...] = ()


def driver_branch(m: Store, version: str, platform: Platform = "linux") -> BranchAnswer:
    """The row of a driver's branch. On Windows (and WSL, whose driver carries Windows numbers) branches have ranges."""
    found = numbers(version)
    if not found:
        return BranchAnswer("unknown")
    rows = m.drivers
    if platform == "windows":
        for row in reversed(rows):
            if row.windows_first and row.windows_last and row.windows_first <= found[0] <= row.windows_last:
                return BranchAnswer("known", row)
        newest = max(row.windows_last or 0 for row in rows)
    else:
        for row in rows:
            if row.branch == found[0]:
                return BranchAnswer("known", row)
        newest = max(row.branch for row in rows)
    return BranchAnswer("newer-than-matrix" if found[0] > newest else "unknown")


def newest_of_branch(m: Store, version: str, platform: Platform = "linux") -> str:
    """The version; for a bare branch ('580') its newest release ('580.178.04'). Windows releases are not listed: there
    it is a number above all of them ('581.999'). Unlisted branches stay as they are."""
    if "." in version or driver_branch(m, version, platform).status != "known":
        return version
    row = driver_branch(m, version, platform).row
    listed = row.latest_seen if row and platform == "linux" else ""
    return listed or f"{version}{ABOVE_ALL}"


def floors(m: Store, cuda: tuple[int, int], platform: Platform) -> tuple[str, str, list[Toolkit]]:
    """Full-feature floor (lowest of the minor's updates), minor-version floor, and the toolkit rows."""
    toolkits = [t for t in m.toolkits if minor(t.cuda) == cuda]
    field = "min_driver_windows" if platform == "windows" else "min_driver_linux"
    full = [value for t in toolkits if (value := getattr(t, field))]
    major = next((row for row in m.cuda_majors if row.major == cuda[0]), None)
    return (min(full, key=numbers) if full else "", getattr(major, field) if major else "", toolkits)


def toolkit_versions(m: Store) -> tuple[tuple[int, int], ...]:
    """The CUDA versions that a toolkit was published for, oldest first: not 12.7, which only a driver reports."""
    published = (row for row in m.toolkits if row.release_date or row.min_driver_linux or row.bundled_driver_linux)
    return m.memo("toolkit versions", lambda: tuple(sorted({v for row in published if (v := minor(row.cuda))})))


def toolkit_of_driver(m: Store, reported: str) -> str:
    """The newest published CUDA for a driver that reports this one: '12.6' for '12.7'."""
    found = [version for version in toolkit_versions(m) if version <= (minor(reported) or (0, 0))]
    return ".".join(map(str, found[-1])) if found else reported


def compat_packages(m: Store, cuda: tuple[int, int], host_branch: int) -> list[str]:
    """cuda-compat packages, lowest CUDA first, that bring at least this CUDA and accept this host branch."""
    rows = [
        (value, row.package)
        for row in m.compat_packages
        if (value := minor(row.cuda))
        and value >= cuda
        and value[0] == cuda[0]
        and (row.hosts.get(str(host_branch)) == "compatible" or host_branch in row.image_hosts)
    ]
    return [package for _, package in sorted(rows)]


def driver_for_cuda(m: Store, driver: str, cuda: str, platform: Platform = "linux") -> DriverGrade:
    """Grade a driver against the CUDA version a program was built with; a bare branch counts as its newest release."""
    have, want = numbers(newest_of_branch(m, driver, platform)), minor(cuda)
    if not have or not want:
        return DriverGrade(grade="unknown", reason=f"unreadable version: driver {driver!r}, CUDA {cuda!r}")
    text = f"{want[0]}.{want[1]}"
    full, floor, toolkits = floors(m, want, platform)
    branch = driver_branch(m, driver, platform)
    reported = branch.row.cuda if branch.row else ""
    published = toolkit_of_driver(m, reported) if reported else ""
    newer = branch.status == "newer-than-matrix"

    def answer(grade: str, reason: str, limits: str = "", newer_than_matrix: bool = newer) -> DriverGrade:
        confidence = branch.row.confidence if branch.row else toolkits[0].confidence if toolkits else ""
        return DriverGrade(
            grade=grade,
            reason=reason,
            cuda_reported=reported,
            floor_full=full,
            floor_minor=floor,
            limits=limits,
            newer_than_matrix=newer_than_matrix,
            confidence=confidence,
            rows=(*toolkits[:1], *((branch.row,) if branch.row else ())),
        )

    if not toolkits:
        newest = max(value for t in m.toolkits if (value := minor(t.cuda)))
        if want > newest:
            return answer("unknown", f"CUDA {text} is {NEWER}", newer_than_matrix=True)
        return answer("unknown", f"CUDA {text} is not listed in this matrix")
    if (value := minor(reported)) and value >= want:
        return answer("native", f"driver branch {branch.row.branch if branch.row else ''} supports CUDA {published}")
    if newer:
        return answer("native", f"driver {driver} is {NEWER}, so it is above every minimum listed for CUDA {text}")
    if full and have >= numbers(full):
        return answer("native", f"driver {driver} meets the full-feature minimum for CUDA {text}, {full}")
    lowest = floor or full
    if not branch.row and not (have[0] >= _OLDEST and lowest and have < numbers(lowest)):
        return answer("unknown", f"driver branch {have[0]} is not listed in this matrix")
    if floor and have >= numbers(floor):
        verb = "reports" if published == reported else "supports"
        why = f"driver {driver} {verb} CUDA {published} and meets the CUDA {want[0]}.x minimum, {floor}"
        return answer("minor-version", why, limits="sass-only")
    low = f"driver {driver} is below the minimum for CUDA {text}, {lowest}"
    if platform == "linux" and compat_packages(m, want, have[0]):
        return answer("needs-forward-compat", low)
    return answer("impossible", f"{low}, and no forward-compatibility package supports this driver")


def driver_for_gpu(
    m: Store,
    driver: str,
    capability: str,
    flavour: str | None = None,
    platform: Platform = "linux",
    gpu_name: str | None = None,
) -> DriverGpuGrade:
    """Grade a driver against a compute capability; flavour: 'open', 'proprietary' or None if unknown.

    gpu_name identifies boards that need more than their capability does (Grace Hopper: open module only).
    """
    have = numbers(driver)
    row = compute_capability(m, capability)
    if row is None:
        listed = max(numbers(c.cc) for c in m.capabilities)
        newer = numbers(capability) > listed
        return DriverGpuGrade(
            grade="unknown",
            newer_than_matrix=newer,
            reason=f"compute capability {capability} is {NEWER if newer else 'not listed in this matrix'}",
        )

    def answer(grade: str, reason: str, newer: bool = False) -> DriverGpuGrade:
        return DriverGpuGrade(
            grade=grade,
            reason=reason,
            first_driver=row.first_driver,
            last_driver=row.last_driver,
            newer_than_matrix=newer,
            rows=(row,),
        )

    if not have:
        return answer("unknown", f"unreadable driver version {driver!r}")
    if row.tegra:
        return answer("unknown", "Jetson drivers are part of the board's software release and are not listed here")
    branch = driver_branch(m, driver, platform)
    number = branch.row.branch if branch.row else have[0]
    name = f"{row.architecture} ({row.cc})"
    if platform == "windows" and not branch.row and branch.status == "unknown":
        return answer("unknown", f"driver {driver} is not listed in this matrix")
    if row.first_driver and number < row.first_driver:
        return answer("too-old", f"{name} needs driver branch {row.first_driver} or newer")
    if row.last_driver and number > row.last_driver:
        return answer("too-new", f"branch {row.last_driver} is the last driver branch for {name}")
    if flavour == "open" and row.open_module == "unsupported":
        return answer(
            "open-module-unsupported", f"the open kernel module needs Turing (7.5) or newer; this GPU is {name}"
        )
    named: tuple[Gpu, ...] = ()
    if gpu_name and flavour == "proprietary":
        from .gpus import gpu

        named = gpu(m, gpu_name).rows
    if flavour == "proprietary" and (row.open_module == "required" or any(g.open_module == "required" for g in named)):
        return answer("needs-open-module", f"{gpu_name or name} works only with the open kernel module")
    if branch.status != "known" and row.last_driver is None:
        newer = branch.status == "newer-than-matrix"
        return answer("unknown", f"driver {driver} is {NEWER if newer else 'not listed in this matrix'}", newer)
    return answer("ok", f"branch {number} supports {name}")
