"""A generic `torch` wheel is installed on a Jetson board.

What is wrong: the GPU of a Jetson (Xavier 7.2, Orin 8.7, Thor 11.0) runs only code compiled for it. The aarch64 wheels
on PyPI and the PyTorch index are built for servers: CPU builds up to 2.10, and after that CUDA builds without code for
Orin (CUDA 13.0 builds do support Thor).

Symptoms: `torch.cuda.is_available()` is False with a `+cpu` version, or it is True but kernels fail with `no kernel
image is available for execution on the device`; `libcudart.so.10.2: cannot open shared object file` with a wheel for a
different JetPack release.

Why it happens: `pip install torch` instead of NVIDIA's build for the board's JetPack release.

How to fix it: use NVIDIA's container image for Jetson, or the wheel that NVIDIA publishes for your JetPack.

Source: docs.nvidia.com: Installing PyTorch for Jetson Platform; bytes of torch's libraries.
"""

from __future__ import annotations

from compat_matrix.versions import torch_version

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.jetson import jetson_build
from ..fixes.machine import jetson
from ..snapshot import Snapshot
from ._code import judged
from ._torch import build_kind, installed

CHECK = Check(
    __name__,
    title="A generic torch build on a Jetson board",
    sound="No problem with torch on this Jetson board was found",
    severity="critical",
    layer="python",
    tags=("torch", "gpu"),
    downstream_of=("torch-installed-twice", "user-site-shadows-packages"),
    source="docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails on a Jetson whose torch is a published CPU build, or has no code for the board."""
    board = jetson(s, m)
    if not board:
        raise Skip("this is not a Jetson board")
    version = installed(s)
    parts = torch_version(version)
    kind = build_kind(s)
    facts = {"torch": version, "build": kind, "board": board}
    if kind == "cpu":
        title = f"torch {version} on this Jetson is a generic CPU build"
        yield CHECK.fail(title, f"Identified as a Jetson by: {board}.", facts=facts, fixes=(jetson_build(s),))
        return
    if parts is None or parts.kind == "vendor":
        return
    for j in judged(s, m):
        if j.grade.kind == "none" and not j.ran:
            title = f"torch {version} is a generic build without code for {j.gpu.name} ({j.gpu.capability})"
            detail = f"According to {j.code.witness}: {j.grade.reason}.{j.disagreement}"
            yield CHECK.fail(title, detail, facts={**facts, **j.facts}, direct=j.code.direct, fixes=(jetson_build(s),))
            return
