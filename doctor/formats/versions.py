"""Version spellings of drivers, CUDA, cuDNN, NCCL and torch. What cannot be read is None, never a guess."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Tuple

from .lazy import lazy

_TORCH = lazy(
    r"(?P<release>\d{1,4}(?:\.\d{1,4}){1,3})(?P<pre>(?:a|b|rc|\.?dev|\.post)\d{0,12}(?:\.?dev\d{1,12})?)?"
    r"(?:\+(?P<local>[A-Za-z0-9._-]{1,80}))?",
    re.ASCII,
)
_CUDA_TAG = lazy(r"cu(\d{1,2})(\d)(?:$|[^\d])", re.ASCII)
_ROCM_TAG = lazy(r"rocm(\d{1,2}(?:\.\d{1,2}){1,2})", re.ASCII)


class TorchVersion(NamedTuple):
    """A torch version. ``build``: cuda, rocm, cpu, xpu, vendor (a local tag of somebody else's) or "" (no tag).

    ``toolkit`` is the CUDA ("12.4") or ROCm ("6.2") version where the tag tells it. A version without a tag is a
    wheel of the package index, whose build the version alone does not tell.
    """

    public: str
    release: Tuple[int, ...]
    prerelease: bool
    local: str
    build: str
    toolkit: Optional[str]


def cuda_from_int(number: int) -> Optional[str]:
    """The driver's and runtime's integer, 1000 * major + 10 * minor: 12080 -> ``12.8``."""
    if not 1000 <= number < 1_000_000 or number % 10:
        return None
    return "%d.%d" % (number // 1000, number % 1000 // 10)


def cudnn_from_int(number: int) -> Optional[str]:
    """``CUDNN_VERSION``: 91002 -> ``9.10.2``; before cuDNN 9 the major counted thousands: 8902 -> ``8.9.2``."""
    if 1000 <= number < 10_000:
        return "%d.%d.%d" % (number // 1000, number % 1000 // 100, number % 100)
    if 90_000 <= number < 1_000_000:
        return "%d.%d.%d" % (number // 10_000, number % 10_000 // 100, number % 100)
    return None


def parse_torch(text: str) -> Optional[TorchVersion]:
    """Read ``2.6.0+cu124``, ``2.8.0a0+34c6371d24.nv25.08``, ``2.15.0``, ``2.9.0.dev20250901+rocm6.4`` and the like."""
    match = _TORCH.fullmatch(text.strip())
    if not match:
        return None
    local = match.group("local") or ""
    pre = match.group("pre") or ""
    build, toolkit = _torch_build(local)
    return TorchVersion(
        match.group("release") + pre,
        tuple(int(part) for part in match.group("release").split(".")),
        bool(pre) and not pre.startswith(".post"),
        local,
        build,
        toolkit,
    )


def _torch_build(local: str) -> Tuple[str, Optional[str]]:
    tag = local.lower()
    cuda = _CUDA_TAG.match(tag)
    if cuda:
        return "cuda", "%s.%s" % cuda.groups()
    rocm = _ROCM_TAG.match(tag)
    if rocm or tag.startswith("rocm"):
        return "rocm", rocm.group(1) if rocm else None
    for name in ("cpu", "xpu"):
        if tag == name or tag.startswith(name + "."):
            return name, None
    return ("vendor" if tag else ""), None
