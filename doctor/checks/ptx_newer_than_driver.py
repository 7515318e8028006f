"""PyTorch has only PTX for this GPU, and that PTX is newer than the driver can compile.

What is wrong: minor-version compatibility lets an older driver run machine code from a newer CUDA, but not compile its
PTX.

Symptoms: `CUDA error: the provided PTX was compiled with an unsupported toolchain` (222,
CUDA_ERROR_UNSUPPORTED_PTX_VERSION).

Why it happens: the build has no machine code for this GPU, and it was built with a newer CUDA than the driver reports.

How to fix it: install a build with machine code for this GPU, or a newer driver.

Source: CUDA Compatibility, minor-version compatibility, limits.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.compatible import other_gpu
from ..fixes.driver import install_compatible, install_offered, offer
from ..fixes.torch import install_torch
from ..snapshot import Snapshot, known
from ._code import judged

CHECK = Check(
    __name__,
    title="torch's PTX is too new for the driver",
    sound="torch does not need PTX that is too new for the driver",
    severity="critical",
    layer="python",
    tags=("torch", "driver"),
    downstream_of=("no-nvidia-gpu", "driver-too-old-for-gpu", "driver-too-old-for-cuda-build"),
    source="docs.nvidia.com/deploy/cuda-compatibility: minor-version compatibility",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each GPU that only PTX reaches if the driver reports an older CUDA than the PTX needs."""
    for j in judged(s, m):
        if j.grade.kind == "none" and j.grade.ptx_needs_cuda and not j.ran:
            install = install_torch(s, m)
            floor = numbers(m.driver_for_cuda("1", j.grade.ptx_needs_cuda).floor_full)[:1]
            offered = install_offered(s, offer(s, m, floor[0], p.judged_on)) if floor else ()
            newer = offered if floor else install_compatible(s, m, p.judged_on, newer=True)
            yield CHECK.fail(
                f"The driver cannot compile torch's PTX for {j.gpu.name} ({j.gpu.capability})",
                f"According to {j.code.witness}: {j.grade.reason}.{j.disagreement}",
                facts={
                    **j.facts,
                    "ptx_needs_cuda": j.grade.ptx_needs_cuda,
                    "driver_cuda": known(s.driver.cuda_version) or known(s.driver.nvml_cuda_version),
                },
                subject=j.gpu.key,
                direct=j.code.direct,
                fixes=(*((install,) if install else ()), *newer) or (other_gpu(s),),
            )
