"""Triton and the packages that compile through it: which one is installed, and which packages need it."""

from __future__ import annotations

from ..snapshot import Distribution, Snapshot, known

TRITONS = ("triton", "pytorch-triton")
_USERS = ("vllm", "sglang", "unsloth", "flash-attn-4", "liger-kernel", "flashinfer-python", "flashinfer")
"""Packages that compile at run time in normal use; torch by itself does so only for torch.compile."""


def triton(s: Snapshot) -> Distribution | None:
    """The installed Triton, None if there is none."""
    return next((d for d in known(s.python.distributions) or () if d.name in TRITONS), None)


def users(s: Snapshot) -> list[str]:
    """Installed packages that need run-time compilation."""
    return [d.name for d in known(s.python.distributions) or () if d.name in _USERS]
