"""Fixes for a torch whose CUDA is newer than the driver: an older build, then forward compatibility, then the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compat_matrix.versions import minor, numbers

from ..findings import Fix, Step
from ..snapshot import Snapshot, known
from .compatible import other_gpu, usual_gpus
from .distribution import manager
from .driver import install_compatible, install_offered, offer
from .machine import capabilities, driver_platform, driver_version
from .python import new_python_fix
from .torch import install_torch
from .where import RECHECK, library_changes, sudo

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.drivers import DriverGrade


def fixes_for(
    s: Snapshot, m: Matrix, cuda: str, grade: DriverGrade | None, *, today: str = "", serves: bool = True
) -> tuple[Fix, ...]:
    """Best first: what the user can do comes before what only the host's owner can do.

    `serves`: whether this torch has code for a GPU here; without it no driver helps. `today`: the day to judge by.
    """
    found: list[Fix] = []
    if driver_version(s, m) is not None:
        gpus = None if capabilities(s, m) else usual_gpus(s, m)
        build = install_torch(s, m, gpus=gpus) or new_python_fix(s, m, gpus)
        found += [build] if build else []
        compat = forward_compat(s, m, cuda) if serves else None
        found += [compat] if compat else []
    floor = numbers((grade.floor_minor or grade.floor_full) if grade else "")
    flavour = known(s.driver.kernel_flavour) or ""
    if serves and floor:
        found += install_offered(s, offer(s, m, floor[0], today), flavour)
    elif serves:
        found += install_compatible(s, m, today, flavour, newer=True)
    return tuple(found) or (other_gpu(s),)


def _drops_a_gpu(s: Snapshot, m: Matrix, packages: Sequence[str]) -> bool:
    """Whether the libcuda of the first of these packages comes from a branch that no longer drives a GPU here."""
    origin = next((row.from_branch for row in m.compat_packages if row.package in packages[:1]), 0)
    rows = [row for cc in capabilities(s, m) if (row := m.compute_capability(cc))]
    return any(row.last_driver and origin > row.last_driver for row in rows)


def forward_compat(s: Snapshot, m: Matrix, cuda: str) -> Fix | None:
    """Use a newer libcuda (cuda-compat) on this driver, where GPU and driver are eligible for it."""
    driver, gpus = known(s.driver.version), known(s.gpus) or ()
    if driver is None or not gpus or driver_platform(s) != "linux":
        return None
    grades = [m.forward_compat(cuda, driver, gpu_name=known(g.name), brand_id=known(g.brand_id)) for g in gpus]
    if any(grade.grade != "possible" for grade in grades):
        return None
    flavour = known(s.driver.kernel_flavour)
    if any(m.driver_for_gpu(driver, cc, flavour).grade == "too-old" for cc in capabilities(s, m)):
        return None  # a newer libcuda does not teach the kernel module a newer GPU
    if _drops_a_gpu(s, m, grades[0].packages):
        return None
    want = minor(cuda) or (0, 0)
    here = next((c for c in known(s.container.compat) or () if (minor(known(c.cuda_version)) or (0, 0)) >= want), None)
    package = next(iter(grades[0].packages), f"cuda-compat-{want[0]}-{want[1]}")
    version = ".".join(package.rsplit("-", 2)[-2:])
    folder = here.path.rpartition("/")[0] if here else f"/usr/local/cuda-{version}/compat"
    steps: list[Step] = []
    if here is None:
        tool = manager(s)
        if tool in ("", "pacman"):  # NVIDIA's repository has no packages for it
            return None
        steps.append(
            Step(
                text=f"Install {package} from NVIDIA's CUDA repository (for a container: inside it, not on the host).",
                command=f"{sudo(s)}{tool} install -y {package}",
                where="shell",
                needs_root=True,
            )
        )
    changes = library_changes(driver__cuda_version=version, driver__libcuda_path=f"{folder}/libcuda.so.1", gpus=s.gpus)
    for name in ("nvml_init", "nvml_driver_version", "nvml_library_path", "nvml_library_version", "nvml_gpu_count"):
        changes[f"driver.{name}"] = getattr(s.driver, name)  # compat brings a libcuda, not another NVML
    changes["driver.libcuda_version"] = RECHECK
    steps.append(
        Step(
            text="Put its folder first in the library path before Python starts.",
            command=f"export LD_LIBRARY_PATH={folder}:$LD_LIBRARY_PATH",
            where="shell",
            changes=changes,
        )
    )
    return Fix(
        id="use-forward-compatibility",
        title=f"Use the forward-compatibility libcuda from CUDA {version} on driver {driver}",
        steps=tuple(steps),
        note="This works on data-center GPUs only; on other GPUs it fails with error 804.",
        source="docs.nvidia.com/deploy/cuda-compatibility: forward compatibility",
    )
