"""Frameworks other than torch: should they use the GPU, and do they have the CUDA libraries that they need?"""

from __future__ import annotations

from collections.abc import Sequence

from compat_matrix.versions import numbers

from ..findings import Policy, Skip
from ..snapshot import Distribution, Missing, Snapshot, known, need
from ._torch import has_gpu

_WHEELS = {
    "libcudart": "cuda-runtime", "libcublas": "cublas", "libcublasLt": "cublas", "libcufft": "cufft",
    "libcurand": "curand", "libcusolver": "cusolver", "libcusparse": "cusparse", "libcudnn": "cudnn", "libnccl": "nccl",
    "libnvrtc": "cuda-nvrtc", "libnvJitLink": "nvjitlink",
}  # fmt: skip
_NUMBERED = ("libcudart", "libcublas", "libcublasLt", "libnvrtc", "libnvJitLink")
"""Libraries whose number is that of their CUDA."""


def installed(s: Snapshot, *names: str) -> Distribution | None:
    """The first of these that is installed; unknown if the list of distributions is not known."""
    have = {d.name: d for d in reversed(need("python.distributions", s.python.distributions))}
    return next((have[name] for name in names if name in have), None)


def gpu_wanted(s: Snapshot, p: Policy, toolkits: Sequence[str] = ()) -> None:
    """Skips if there is no GPU to use, or none is to be used.

    If `toolkits` that do not match were reported, one is wanted, even if nothing looked for it.
    """
    if p.expect.kind == "none":
        raise Skip("--expect none: no GPU is expected here")
    unasked = isinstance(s.gpus, Missing) and s.gpus.reason == "not-asked"
    if not has_gpu(s) and not (toolkits and unasked):
        raise Skip("no NVIDIA GPU was seen", without="gpu")


def weight(s: Snapshot, p: Policy, *names: str) -> str:
    """`fail` if one of the packages is required, `remark` if torch is installed to do the work on the GPU (the package
    may be a helper that is meant for the CPU), else `warn`."""
    if any(name in p.require for name in names):
        return "fail"
    version = s.torch.version
    return "remark" if not isinstance(version, Missing) else "warn"


def other_toolkits(s: Snapshot, cuda: str) -> list[str]:
    """Versions of the CUDA toolkits that were reported, if none has the libraries of a build for `cuda`.

    Before 11 the file names contain both numbers (libcudart.so.10.1), from 11 on only the first. Empty if one matches,
    no toolkit was reported, or the libraries themselves are known.
    """
    if not isinstance(s.cuda.libraries, Missing):
        return []
    versions = [known(s.cuda.nvcc_version), *(known(kit.version) for kit in known(s.cuda.toolkits) or ())]
    here = list(dict.fromkeys(version for version in versions if version))
    parts = 1 if numbers(cuda)[:1] >= (11,) else 2
    return [] if any(numbers(version)[:parts] == numbers(cuda)[:parts] for version in here) else here


def missing_libraries(s: Snapshot, sonames: tuple[str, ...]) -> list[str]:
    """Those of the sonames (libcublas.so.12) that neither an nvidia-* wheel nor the loader's path supplies."""
    if isinstance(s.torch.requires, Missing) and s.torch.requires.reason == "recheck":
        need("torch.requires", s.torch.requires)  # a torch just installed brings CUDA wheels that are not listed yet
    have = {d.name: d.version for d in known(s.python.distributions) or ()}
    loaded = {item.soname for item in need("cuda.libraries", s.cuda.libraries)}
    return [name for name in sonames if name not in loaded and not _wheel(have, name)]


def _wheel(have: dict[str, str], soname: str) -> bool:
    """Whether a wheel supplies it; a library that no wheel is known to supply is not judged."""
    library, _, number = soname.partition(".so.")
    part, major = _WHEELS.get(library), number.partition(".")[0]
    if part is None:
        return True
    named = {n: v for n, v in have.items() if n == f"nvidia-{part}" or n.startswith(f"nvidia-{part}-cu")}
    if library == "libcudnn":
        return any(numbers(version)[:1] == numbers(number)[:1] for version in named.values())
    if library in _NUMBERED:
        return f"nvidia-{part}-cu{major}" in named or numbers(named.get(f"nvidia-{part}"))[:1] == numbers(number)[:1]
    return bool(named)
