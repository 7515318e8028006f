"""Forward compatibility: which compat libcuda works on which host driver and GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from .drivers import NEWER, compat_packages, driver_branch, toolkit_of_driver
from .gpus import gpu
from .versions import minor

if TYPE_CHECKING:
    from .rows_driver import Row
    from .rows_gpu import Board
    from .rows_gpu import Gpu as GpuRow
    from .store import Store


class ForwardCompatGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A compat libcuda on a host. grade: possible, not-on-this-gpu, not-on-this-driver, not-needed, unknown.
    packages: cuda-compat packages that would work."""

    grade: str
    reason: str
    packages: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


_DATA_CENTER_BRANDS = (2, 14)  # NVML: Tesla, Nvidia
_CONSUMER_BRANDS = (5, 6, 15, 16)  # GeForce, Titan, GeForceRTX, TitanRTX


def forward_compat(
    m: Store,
    cuda: str,
    host_driver: str,
    *,
    gpu_name: str | None = None,
    brand_id: int | None = None,
    segment: str | None = None,
    note_hosts: Sequence[int] | None = None,
    note_brands: Sequence[int] | None = None,
) -> ForwardCompatGrade:
    """Grade the compat libcuda of a CUDA version on a host driver and a GPU (Linux only).

    brand_id: NVML brand; segment: datacenter, workstation, consumer; note_*: the allow list read from the compat
    library itself, which takes precedence over the tables.
    """
    want, branch = minor(cuda), driver_branch(m, host_driver)
    if not want or not branch.row:
        why = NEWER if branch.status == "newer-than-matrix" else "not listed in this matrix"
        return ForwardCompatGrade(grade="unknown", reason=f"driver {host_driver!r} (for CUDA {cuda!r}) is {why}")
    host = branch.row.branch
    if (value := minor(branch.row.cuda)) and value >= want:
        reported = toolkit_of_driver(m, branch.row.cuda)
        return ForwardCompatGrade(
            grade="not-needed",
            rows=(branch.row,),
            reason=f"branch {host} itself reports CUDA {reported}, so an older compat library must not load",
        )
    row = next((r for r in m.compat_packages if minor(r.cuda) == want), None)
    cited = (row,) if row else ()
    packages = tuple(compat_packages(m, want, host))
    eligible = _eligible(m, gpu_name, brand_id, segment, note_brands)
    if eligible == "no":
        return ForwardCompatGrade(
            grade="not-on-this-gpu",
            rows=cited,
            packages=packages,
            reason="forward compatibility is for data-center and some workstation GPUs, not for this brand (error 804)",
        )
    if note_hosts is not None:
        if host not in note_hosts:
            why = f"the compat library's own list of supported drivers does not include branch {host}"
            return ForwardCompatGrade(grade="not-on-this-driver", reason=why, rows=cited, packages=packages)
    elif row is None or not (row.hosts or row.image_hosts):
        why = f"no list of supported drivers is known for the CUDA {cuda} compat package"
        return ForwardCompatGrade(grade="unknown", reason=why, rows=cited, packages=packages)
    elif row.package not in packages:
        why = f"{row.package} does not list driver branch {host} as supported"
        return ForwardCompatGrade(grade="not-on-this-driver", reason=why, rows=cited, packages=packages)
    if eligible == "unknown":
        why = f"driver branch {host} is listed as supported, but gpudoctor does not know whether this GPU is eligible"
        return ForwardCompatGrade(grade="unknown", reason=why, rows=cited, packages=packages)
    why = f"driver branch {host} is listed as supported for CUDA {cuda}, and this GPU is eligible"
    return ForwardCompatGrade(grade="possible", reason=why, rows=cited, packages=packages)


def for_all_of(rows: Sequence[GpuRow | Board]) -> bool:
    """Whether every product that a GPU may be supports forward compatibility; false for an unlisted one."""
    return bool(rows) and all(getattr(row, "forward_compat", "unknown") == "yes" for row in rows)


def _eligible(
    m: Store, name: str | None, brand: int | None, segment: str | None, note_brands: Sequence[int] | None
) -> str:
    if brand in _CONSUMER_BRANDS:
        return "no"
    if brand is not None and brand != 0 and note_brands is not None:
        return "yes" if brand in note_brands else "no"
    if name and segment is None:
        rows = gpu(m, name).rows
        found = {row.forward_compat for row in rows}
        if len(found) == 1:
            segment = {"yes": "datacenter", "no": "consumer"}.get(found.pop(), "other")
        elif any(word in name.casefold() for word in ("geforce", "titan")):
            segment = "consumer"
    if segment == "consumer":
        return "no"
    if segment == "datacenter" or (segment is None and brand in _DATA_CENTER_BRANDS):
        return "yes"
    return "unknown"
