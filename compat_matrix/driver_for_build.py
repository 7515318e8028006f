"""Whether a driver supports these GPUs at all, and how it runs a build with a CUDA tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .code import compute_capability
from .drivers import compat_packages, driver_for_cuda, driver_for_gpu
from .versions import minor, numbers, tag_cuda

if TYPE_CHECKING:
    from .rows_driver import Row
    from .store import Store

Held: TypeAlias = "tuple[str, Row] | tuple[()]"
"""Why a driver does not support a GPU, and the row that says so; empty if it does."""


def undriven(m: Store, driver: str, os: str, gpus: tuple[str, ...]) -> Held:
    """Which GPU the driver does not support at all; empty if it supports all of them, or if no driver is given."""
    known: dict[tuple[str, str, tuple[str, ...]], Held] = m.memo("undriven", dict)
    key = (driver, os, gpus)
    if key not in known:
        known[key] = ()
        for gpu in gpus if driver else ():
            answer = driver_for_gpu(m, driver, gpu, None, "linux" if os == "linux" else "windows")
            row = compute_capability(m, gpu)
            if answer.grade in ("too-old", "too-new") and row:
                known[key] = (f"driver {driver} does not support this GPU: {answer.reason}", row)
                break
    return known[key]


def driver_for_tag(m: Store, driver: str, os: str, tag: str, eligible: bool) -> tuple[str, str, str, tuple[Row, ...]]:
    """(grade or 'no', reason, cuda-compat package, rows); eligible: these GPUs support forward compatibility."""
    known: dict[tuple[str, str, str, bool], tuple[str, str, str, tuple[Row, ...]]] = m.memo("driver for tag", dict)
    key = (driver, os, tag, eligible)
    if key not in known:
        known[key] = _graded(m, driver, os, tag, eligible)
    return known[key]


def _graded(m: Store, driver: str, os: str, tag: str, eligible: bool) -> tuple[str, str, str, tuple[Row, ...]]:
    cuda = tag_cuda(tag)
    if cuda is None:
        return "no", f"{tag} is not a CUDA build", "", ()
    if not driver:
        return "no-driver", "driver unknown", "", ()
    answer = driver_for_cuda(m, driver, cuda, "linux" if os == "linux" else "windows")
    if answer.grade in ("native", "minor-version"):
        return answer.grade, answer.reason, "", answer.rows
    version = minor(cuda)
    if answer.grade == "needs-forward-compat" and eligible and version:
        packages = compat_packages(m, version, numbers(driver)[0])
        if packages:
            return (
                "forward-compat",
                f"{answer.reason}; {packages[0]} provides a newer libcuda",
                packages[0],
                answer.rows,
            )
    return "no", answer.reason, "", answer.rows
