"""What an extension's libraries were built for (CUDA or not, and which major version), judged by what they link to."""

from __future__ import annotations

from ..snapshot import CodeLibrary, Snapshot, known

_TORCH_CUDA = ("libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_cu.so", "libtorch_cuda_cpp.so")


def libraries_of(s: Snapshot, package: str) -> tuple[CodeLibrary, ...]:
    """The libraries of a package that were read; empty if none were."""
    return tuple(library for library in known(s.python.extensions) or () if library.package == package)


def links_torch(library: CodeLibrary) -> bool:
    """Whether it is linked with torch's own libraries."""
    return any(name.startswith(("libtorch", "libc10")) for name in library.needed)


def links_torch_cuda(library: CodeLibrary) -> str:
    """The CUDA library of torch that it needs, '' for none."""
    return next((name for name in library.needed if name in _TORCH_CUDA), "")
