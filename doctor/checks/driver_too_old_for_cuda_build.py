"""The driver does not support the CUDA version that torch was built with.

What is wrong: a program built with CUDA 12.x runs on any driver from branch 525 on; one built with CUDA 13.x needs
branch 580 or newer (11.x: 450.80.02). The driver on this machine is older than that.

Symptoms: `torch.cuda.is_available()` is False with the warning `The NVIDIA driver on your system is too old (found
version 12020)`, `CUDA driver version is insufficient for CUDA runtime version` (error 35).

Why it happens: from torch 2.11 on, a plain `pip install torch` installs a CUDA 13 build, or the host of the
container or pod has an older driver. The CUDA version that nvidia-smi shows is the highest that the driver supports,
not what is installed.

How to fix it, in this order: install a torch build that works with this driver (needs no root access to the host); on
data-center GPUs, install a forward-compatibility package (cuda-compat); install a newer driver on the host, or use
another host.

A driver that supports the build's CUDA major version, but only an older minor version (branch 535 with a CUDA 12.8
build), is fine, thanks to minor-version compatibility. If `torch.cuda.is_available()` is True, that takes precedence
over the table.

Source: CUDA Compatibility guide (docs.nvidia.com/deploy/cuda-compatibility), CUDA release notes, table of drivers.
"""

from __future__ import annotations

from compat_matrix.versions import minor

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.cuda_driver import fixes_for
from ..fixes.machine import driver_platform
from ..snapshot import Missing, Snapshot, known, need
from ._code import serves_any
from ._seen import DRIVERLESS, compat_in_use
from ._torch import NO_CODE, cuda_build, no_card, unlisted

CHECK = Check(
    __name__,
    title="The driver is too old for this torch build",
    sound="The driver is new enough for this torch build",
    severity="critical",
    layer="driver",
    tags=("torch", "driver", "cuda"),
    downstream_of=(*DRIVERLESS, "driver-not-answering", "driver-too-old-for-gpu", "image-torch-replaced", *NO_CODE),
    source="docs.nvidia.com/deploy/cuda-compatibility",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the driver is older than the lowest one for torch's CUDA major version, and no compat libcuda helps."""
    cuda = cuda_build(s)
    driver = s.driver.version
    reported = known(s.driver.cuda_version) or known(s.driver.nvml_cuda_version)
    if isinstance(driver, Missing) and no_card(s):
        raise Skip("there is no NVIDIA GPU, so no driver is needed", without="gpu")
    if known(s.torch_run.cuda_available) is True:
        yield from _remark(s, m, cuda)
        return
    have, want = minor(reported), minor(cuda)
    if have and want and have >= want:
        return  # what libcuda itself says, a forward-compatibility one included
    if _compat_serves(s, cuda):
        return
    if isinstance(driver, Missing):
        if have and want:
            yield from _by_cuda_version(s, m, cuda, have, want)
            return
        need("driver.kernel_version", driver)
        return
    grade = m.driver_for_cuda(driver, cuda, driver_platform(s))
    if grade.grade == "unknown":
        raise unlisted(grade.reason)
    if grade.grade in ("native", "minor-version"):
        yield from _remark(s, m, cuda)
        return
    facts = {
        "driver": driver, "torch_cuda": cuda, "driver_cuda": reported or grade.cuda_reported,
        "needed_driver": grade.floor_minor or grade.floor_full, "grade": grade.grade,
    }  # fmt: skip
    shown = f" It supports CUDA up to {facts['driver_cuda']} (the number that nvidia-smi shows)."
    yield CHECK.fail(
        f"Driver {driver} is too old for torch {known(s.torch.version)}, which was built with CUDA {cuda}",
        f"{grade.reason[0].upper()}{grade.reason[1:]}.{shown if facts['driver_cuda'] else ''}",
        facts=facts,
        direct=known(s.torch_run.cuda_available) is False,
        fixes=fixes_for(s, m, cuda, grade, today=p.judged_on, serves=serves_any(s, m)),
    )


def _compat_serves(s: Snapshot, cuda: str) -> bool:
    """Whether a forward-compatibility libcuda of at least this CUDA is the one that loads."""
    path, want = compat_in_use(s), minor(cuda)
    if not path or not want:
        return False
    loaded = [c for c in known(s.container.compat) or () if c.path == path or c.loads is True]
    versions = [minor(known(c.cuda_version)) for c in loaded]
    return any(version is not None and version >= want for version in versions)


def _remark(s: Snapshot, m: Matrix, cuda: str) -> Findings:
    """Minor-version compatibility is only a remark: SASS runs, and torch's kernels, Triton and NVRTC make SASS."""
    driver = s.driver.version
    if isinstance(driver, Missing) or driver_platform(s) != "linux":
        return
    grade = m.driver_for_cuda(driver, cuda)
    if grade.grade == "minor-version":
        yield CHECK.remark(
            f"Driver {driver} runs this CUDA {cuda} build through minor-version compatibility",
            f"{grade.reason[0].upper()}{grade.reason[1:]}. Nothing is wrong, but this driver cannot compile PTX from a "
            f"CUDA version newer than {m.toolkit_of_driver(grade.cuda_reported)}.",
            facts={"driver": driver, "torch_cuda": cuda, "driver_cuda": grade.cuda_reported},
        )
    elif grade.grade in ("needs-forward-compat", "impossible"):
        yield CHECK.remark(
            f"CUDA works although driver {driver} is listed as too old for CUDA {cuda}",
            "torch.cuda.is_available() is True, which takes precedence over the list (a forward-compatibility "
            "libcuda may be loaded).",
            facts={"driver": driver, "torch_cuda": cuda},
        )


def _by_cuda_version(s: Snapshot, m: Matrix, cuda: str, have: tuple[int, int], want: tuple[int, int]) -> Findings:
    """The driver's version is not known, but the CUDA version that it reports is: a different major cannot work."""
    row = next((row for row in m.cuda_majors if row.major == want[0]), None)
    if row is None:
        raise unlisted(f"CUDA {cuda} is newer than this matrix")
    if have[0] == want[0] and row.minor_version_compatibility:
        return
    reported = f"{have[0]}.{have[1]}"
    floor = row.min_driver_windows if driver_platform(s) == "windows" else row.min_driver_linux
    needed = f"driver {floor} or newer" if floor else "a newer driver"
    yield CHECK.fail(
        f"The driver supports CUDA up to {reported}, but torch {known(s.torch.version)} was built with CUDA {cuda}",
        f"The driver's version is not known; CUDA {want[0]}.x needs {needed}.",
        facts={"driver_cuda": reported, "torch_cuda": cuda, "needed_driver": floor},
        direct=False,
        fixes=fixes_for(s, m, cuda, None, serves=serves_any(s, m)),
    )
