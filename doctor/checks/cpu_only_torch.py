"""The installed torch has no CUDA code at all.

What is wrong: this is the CPU build of torch. No driver, GPU or setting can make it use a GPU.

Symptoms: `torch.cuda.is_available()` is False, `Torch not compiled with CUDA enabled`, `torch.version.cuda` is
None, a version that ends in `+cpu`.

Why it happens: a plain `pip install torch` on Windows or (up to 2.10) on aarch64, an install from PyTorch's CPU index,
a CPU build from conda, an image that was built on a machine without a GPU, or another package that replaced torch.

How to fix it: replace it with a CUDA build of the same version. With pip, remove the old build first, because pip
treats `2.8.0+cpu` as 2.8.0.

This finding is a note with `--expect none`, and with `--expect any` if there is no GPU. With `--expect none --require
torch` (an image build), it is a warning: this torch computes on the CPU even on a host with a GPU.

Source: torch/version.py of the installed build.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.compatible import compatible_torch
from ..fixes.machine import capabilities
from ..snapshot import Snapshot, known
from ._torch import build_kind, gpu_needed

CHECK = Check(
    __name__,
    title="torch is a CPU-only build",
    sound="torch is not a CPU-only build",
    severity="error",
    layer="python",
    tags=("torch",),
    downstream_of=(
        "no-nvidia-gpu",
        "jetson-generic-wheel",
        "python-version-without-wheel",
        "image-torch-replaced",
        "user-site-shadows-packages",
        "torch-installed-twice",
    ),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if torch was built without CUDA, ROCm or XPU and a GPU is expected; warns in an image build."""
    if build_kind(s) != "cpu":
        return
    if s.host.system == "darwin":
        raise Skip("macOS has no CUDA build of torch; see no-nvidia-gpu")
    version = known(s.torch.version)
    title = f"PyTorch {version} is a CPU-only build"
    facts = {"torch": version, "build": "cpu", "installer": known(s.torch.installer)}
    detail = "This build has no CUDA support; no driver or setting can change that."
    if not gpu_needed(s, p):
        if p.expect.kind == "none" and "torch" in p.require:
            detail += " torch is required here, but it will compute on the CPU even on a host with a GPU."
            fix = compatible_torch(s, m)
            yield CHECK.warn(title, detail, facts=facts, fixes=(fix,) if fix else ())
            return
        yield CHECK.remark(title, f"{detail} No GPU is expected here, so nothing is wrong.", facts=facts)
        return
    if not capabilities(s, m):
        detail += " The right CUDA build depends on the GPU and its driver, which are not known here."
    fix = compatible_torch(s, m)
    yield CHECK.fail(title, detail, facts=facts, fixes=(fix,) if fix else ())
