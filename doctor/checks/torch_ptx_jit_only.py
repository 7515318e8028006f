"""PyTorch has no machine code for this GPU, only PTX that the driver compiles at first use.

What is wrong: it works, but the driver compiles each kernel the first time it is used.

Symptoms: the first call takes minutes, later ones are fast; after a driver update it happens again. In containers
without a persistent home folder, it happens at every start, because the cache (~/.nv/ComputeCache) is lost.

Why it happens: the GPU is newer than the build, and the build contains PTX for an older generation.

How to fix it: install a build with machine code for the GPU; see the command in the finding.

Source: CUDA C++ Programming Guide, just-in-time compilation.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.compatible import compatible_torch
from ..snapshot import Snapshot, known
from ._code import Judged, judged

CHECK = Check(
    __name__,
    title="torch runs on this GPU only through PTX",
    sound="torch does not depend on PTX for this GPU",
    severity="warning",
    layer="python",
    tags=("torch", "gpu", "speed"),
    downstream_of=("no-nvidia-gpu",),
    source="docs.nvidia.com/cuda/cuda-c-programming-guide: just-in-time compilation",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each GPU that only PTX reaches."""
    for j in judged(s, m):
        if j.grade.kind == "ptx-jit" and _native(s, j):
            yield CHECK.remark(
                f"torch {known(s.torch.version)} has machine code for {j.gpu.name} ({j.gpu.capability})",
                f"The first kernel of gpudoctor prove was not compiled from PTX. {j.code.witness[0].upper()}"
                f"{j.code.witness[1:]} says otherwise: {j.grade.reason}.",
                facts=j.facts,
                subject=j.gpu.key,
            )
        elif j.grade.kind == "ptx-jit":
            fix = compatible_torch(s, m)
            yield CHECK.warn(
                f"torch {known(s.torch.version)} has no machine code for {j.gpu.name} ({j.gpu.capability}), only PTX",
                f"According to {j.code.witness}: {j.grade.reason}. The first use of each kernel is slow."
                f"{j.disagreement}",
                facts={**j.facts, "ptx_needs_cuda": j.grade.ptx_needs_cuda},
                subject=j.gpu.key,
                direct=j.code.direct,
                fixes=(fix,) if fix else (),
            )


def _native(s: Snapshot, j: Judged) -> bool:
    """Whether a proof on this GPU showed that torch's machine code was used."""
    if not j.ran:
        return False
    return any(proof.key == j.gpu.key and proof.code == "native" for proof in known(s.measured.torch) or ())
