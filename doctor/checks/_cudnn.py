"""When torch accepts a cuDNN: same major version, and at least the minor version that it was compiled with."""

from __future__ import annotations

from compat_matrix.versions import numbers, torch_version

from ..findings import Matrix
from ..fixes.machine import wheel_platform
from ..fixes.pins import cuda_pins, library_of
from ..snapshot import Snapshot, known


def is_compatible(have: str, compiled: str) -> bool:
    """Whether torch compiled with one cuDNN runs with another (its own rule, in torch/backends/cudnn)."""
    a, b = numbers(have), numbers(compiled)
    return a[:1] == b[:1] and a[1:2] >= b[1:2]


def compiled_with(s: Snapshot, m: Matrix) -> str:
    """The cuDNN that torch was built with: from its pin, else from the matrix; '' if not known."""
    for pin in cuda_pins(s):
        if library_of(pin.name) == "cudnn":
            return pin.version
    parts = torch_version(known(s.torch.version) or "")
    release = m.torch_release(parts.base).release if parts and parts.kind == "release" else None
    if release is None or parts is None:
        return ""
    row = m.torch_build(parts.base, parts.tag or "", wheel_platform(s))
    return release.cudnn_per_build.get(parts.tag or "", release.cudnn if row and row.pypi_default else "")
