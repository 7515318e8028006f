"""Part of the agent torch_proof: a device's code, key and JIT cache."""

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

MAX_CACHE_FILES = 50000
TEGRA = ((3, 2), (5, 3), (6, 2), (7, 2), (8, 7))
"""Chips of Tegra boards run no machine code but their own (CUDA C++ Programming Guide, binary compatibility)."""


def arch_list(torch: Any) -> List[str]:
    """`sm_86`, `compute_90` ... of torch's own kernels; empty where torch does not tell."""
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    return (flags() or "").split() if flags is not None else list(torch.cuda.get_arch_list())


def code_kind(archs: Sequence[str], capability: Tuple[int, ...]) -> Optional[str]:
    """`native` or `ptx-jit`: how kernels of these architectures get onto a GPU; None where none fits.

    Machine code runs on the same major version from its minor on (`sm_90a` on 9.0 alone, `sm_100f` on its family), PTX
    on every later one (CUDA C++ Programming Guide, binary and PTX compatibility).
    """
    kind = None
    for arch in archs:
        match = re.match(r"(sm|compute)_(\d+)(\d)([af]?)$", arch)
        if not match:
            continue
        there, suffix = (int(match.group(2)), int(match.group(3))), match.group(4)
        exact = suffix == "a" or (match.group(1) == "sm" and capability in TEGRA)
        family = suffix == "f" or match.group(1) == "sm"
        if there > capability or (exact and there != capability) or (family and there[0] != capability[0]):
            continue
        if match.group(1) == "sm":
            return "native"
        kind = "ptx-jit"
    return kind


def cache_folder() -> str:
    """Folder of the driver's JIT cache (CUDA C++ Programming Guide, environment variables)."""
    if os.environ.get("CUDA_CACHE_PATH"):
        return os.environ["CUDA_CACHE_PATH"]
    if sys.platform == "win32":
        return os.path.join(os.environ.get("APPDATA", ""), "NVIDIA", "ComputeCache")
    return os.path.join(os.path.expanduser("~"), ".nv", "ComputeCache")


def jit_cache() -> Optional[Dict[str, int]]:
    """Bytes of each file in the driver's JIT cache; None where it is switched off or too large to be looked at."""
    if os.environ.get("CUDA_CACHE_DISABLE") == "1":
        return None
    sizes: Dict[str, int] = {}
    for folder, _, names in os.walk(cache_folder()):
        for name in names:
            path = os.path.join(folder, name)
            try:
                sizes[path] = os.stat(path).st_size
            except OSError:
                continue
        if len(sizes) > MAX_CACHE_FILES:
            return None
    return sizes


def growth(before: Optional[Dict[str, int]], after: Optional[Dict[str, int]]) -> Optional[int]:
    """Bytes by which files grew or came; those that the driver threw out to make room do not count."""
    if before is None or after is None:
        return None
    return sum(max(0, size - before.get(path, 0)) for path, size in after.items())
