"""Rows about PyTorch: releases, builds with their architectures, wheel indexes, companion packages."""

import msgspec

from .rows_driver import Row


class TorchRelease(Row, frozen=True, kw_only=True, gc=False):
    """One torch release on PyPI. pypi_*: CUDA tag or 'cpu' of the wheel a plain install gives ('none': no wheel);
    cuda_runtime, cudnn, nccl, triton: pins of the default Linux x86_64 wheel; cudnn_per_build: tag -> version."""

    torch: str
    date: str
    requires_python: str
    pythons_linux_x86_64: tuple[str, ...] = ()
    pythons_linux_aarch64: tuple[str, ...] = ()
    pythons_windows: tuple[str, ...] = ()
    pythons_index_only: tuple[str, ...] = ()
    pypi_linux_x86_64: str
    pypi_linux_aarch64: str
    pypi_windows: str
    cuda_runtime: str = ""
    cudnn: str = ""
    nccl: str = ""
    triton: str = ""
    git_commit: str = ""
    cudnn_per_build: dict[str, str] = msgspec.field(default_factory=dict)


class TorchBuild(Row, frozen=True, kw_only=True, gc=False):
    """One torch x CUDA tag x platform. sass, ptx: capabilities with kernels throughout the libraries;
    ptx_unknown: not seen; published: yes, unverified, dropped."""

    torch: str
    tag: str
    platform: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...] = ()
    ptx_unknown: bool = False
    pypi_default: bool = False
    published: str


class CondaBuild(Row, frozen=True, kw_only=True, gc=False):
    """One CUDA build of conda-forge's pytorch, as in the merged recipe. build: pattern of its build string; cuda_floor:
    minimum for the virtual package __cuda (from cuda-version); needs_cuda: not installed without it; arch_floor:
    minimum for __cuda_arch (CEP 46), from the metapackage cuda-arch, '' if the recipe names none; glibc: minimum on the
    system; commit: the feedstock's last one with this version and CUDA."""

    torch: str
    cuda: str
    platform: str
    build: str
    build_number: int
    pythons: tuple[str, ...]
    cuda_floor: str
    needs_cuda: bool
    sass: tuple[str, ...]
    ptx: tuple[str, ...] = ()
    glibc: str = ""
    arch_floor: str = ""
    date: str
    commit: str


class IndexUrl(Row, frozen=True, kw_only=True, gc=False):
    """One PyTorch wheel index and the releases on it."""

    tag: str
    url: str
    torch: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    accelerator: str = ""
    min_driver_linux: str = ""
    min_driver_windows: str = ""


class Companion(Row, frozen=True, kw_only=True, gc=False):
    """A package that works with a torch release. relation: what the package requires of torch: '==', '>=' or any; for
    triton, what torch requires of the package ('==' or '~='); built-for: as the project puts it.
    torch may be a minor ('2.8'), which means every patch of it, or '*'."""

    torch: str
    package: str
    version: str
    relation: str
    requires_python: str = ""
    yanked: bool = False


class Preload(Row, frozen=True, kw_only=True, gc=False):
    """From this release on, until the next row: the CUDA libraries that torch loads from its own wheels in advance, so
    that libraries from another toolkit on LD_LIBRARY_PATH cannot replace them."""

    torch: str
    libraries: tuple[str, ...] = ()


class TorchRequires(Row, frozen=True, kw_only=True, gc=False):
    """What the metadata of a torch release requires on Linux x86_64.

    requires: the same in every build of the release, with the markers in the metadata; cuda: CUDA packages that the
    wheel on PyPI requires, with their markers except those for the platform.
    """

    torch: str
    requires: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
