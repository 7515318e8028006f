"""PyTorch was built for another vendor's GPUs (ROCm or XPU), but this GPU is from NVIDIA.

What is wrong: a ROCm build runs on AMD GPUs, an XPU build on Intel GPUs. Neither contains CUDA code.

Symptoms: `torch.cuda.is_available()` is False, the version ends in `+rocm6.4` or `+xpu`, `torch.version.hip` is
set.

Why it happens: the wrong index in a requirements file or Dockerfile, or an environment that was copied from a different
machine.

How to fix it: replace it with a CUDA build (the same version, if that version supports the GPU).

Source: torch/version.py of the installed build.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.compatible import compatible_torch
from ..snapshot import Snapshot, known
from ._torch import build_kind, has_gpu

CHECK = Check(
    __name__,
    title="torch is built for another vendor's GPUs",
    sound="torch is not built for another vendor's GPUs",
    severity="error",
    layer="python",
    tags=("torch",),
    downstream_of=("image-torch-replaced", "user-site-shadows-packages", "torch-installed-twice"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if a ROCm or XPU build is installed on a machine with an NVIDIA GPU."""
    kind = build_kind(s)
    if kind not in ("rocm", "xpu"):
        return
    if not has_gpu(s):
        raise Skip("no NVIDIA GPU was seen", without="gpu")
    vendor = {"rocm": "AMD (ROCm)", "xpu": "Intel (XPU)"}[kind]
    version = known(s.torch.version)
    fix = compatible_torch(s, m)
    yield CHECK.fail(
        f"torch {version} is built for {vendor} GPUs, not for NVIDIA GPUs",
        "It has no CUDA support.",
        facts={"torch": version, "build": kind},
        fixes=(fix,) if fix else (),
    )
