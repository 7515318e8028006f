"""Pairs of things that no table connects; every other pair has an answer. compat_matrix/README.md says why."""

from __future__ import annotations

THROUGH_TORCH = ("cuda", "driver", "gpu", "cudnn", "nccl")
"""What a Python, a cuDNN and an NCCL are connected with only by a torch."""
KINDS = {
    *((one, "python") for one in THROUGH_TORCH), *(("python", one) for one in THROUGH_TORCH),
    ("cudnn", "nccl"), ("nccl", "cudnn"),
}  # fmt: skip

_LIBRARIES = "cudnn nccl"
_SOURCE = "driver cuda gpu python cudnn nccl"
"""Packages that are built on the user's machine, with the torch that is there."""
PACKAGES: dict[str, tuple[str, str]] = {
    "cupy": ("gpu torch cudnn nccl", "gpu torch cudnn nccl"),
    "jax": ("torch nccl", "torch nccl"),
    "onnxruntime-gpu": ("torch nccl", "torch nccl"),
    "paddlepaddle": ("gpu torch cudnn nccl", "gpu torch cudnn nccl"),
    "tensorflow": ("torch nccl", "torch nccl"),
    "flash-attn": (_LIBRARIES, ""),
    "causal-conv1d": ("gpu", "gpu"),
    "mamba-ssm": ("gpu", "gpu"),
    "flash-attn-3": ("driver torch python cudnn nccl", "driver cuda torch python cudnn nccl"),
    "flash-attn-4": ("driver cudnn nccl", "driver cuda torch cudnn nccl"),
    "bitsandbytes": (_LIBRARIES, _LIBRARIES),
    "sglang-kernel": ("", "gpu"),
    "flashinfer-python": (_LIBRARIES, "gpu torch cudnn nccl"),
    "flashinfer-cubin": ("driver cuda gpu torch cudnn nccl", "driver cuda gpu torch cudnn nccl"),
    "deepspeed": ("python cudnn nccl", "python cudnn nccl"),
    "tensorrt": ("torch cudnn nccl", "torch cudnn nccl"),
    "transformer-engine": (_LIBRARIES, _LIBRARIES),
    "apex": ("driver python cudnn nccl", "driver cuda gpu torch python cudnn nccl"),
    "auto-gptq": ("gpu python cudnn nccl", "gpu torch python cudnn nccl"),
    "torch-scatter": (_SOURCE, f"{_SOURCE} torch"),
    "torch-sparse": (_SOURCE, f"{_SOURCE} torch"),
    "torch-cluster": (_SOURCE, f"{_SOURCE} torch"),
    "torch-spline-conv": (_SOURCE, f"{_SOURCE} torch"),
    "pyg-lib": (_SOURCE, f"{_SOURCE} torch"),
    "detectron2": (_SOURCE, f"{_SOURCE} torch"),
    "pytorch3d": (_SOURCE, f"{_SOURCE} torch"),
}
"""Package -> the KINDs of `KIND for PACKAGE VERSION`, and those of `PACKAGE for KIND VALUE`, that have no answer."""


def unanswered(wanted: str, kind: str) -> bool:
    """Whether no table connects them. For two packages: not known here."""
    of_release, by_value = PACKAGES.get(kind, ("", ""))[0], PACKAGES.get(wanted, ("", ""))[1]
    return (wanted, kind) in KINDS or wanted in of_release.split() or kind in by_value.split()
