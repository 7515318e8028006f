"""CUDA on disk: toolkits, and which libraries the loader would take; a torch wheel needs no toolkit."""

from __future__ import annotations

from msgspec import Struct

from .fact import NOT_ASKED, Missing, Section


class Toolkit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A CUDA toolkit folder."""

    path: str
    version: str | Missing = NOT_ASKED
    """`13.0.1` from version.json, else `13.0` from the folder's name."""
    nvcc: str | Missing = NOT_ASKED
    """Version of its nvcc, from the files next to it (nvcc is not run)."""


class LoaderLibrary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The file that the dynamic loader would take for a soname in this environment, outside of any RPATH."""

    name: str
    """libcudart, libcublas, libcudnn, libnccl, libnvrtc, libnvJitLink, libcusparse, libcusolver, libcufft ..."""
    soname: str
    path: str
    found_by: str
    """LD_LIBRARY_PATH or ld.so.cache or default."""
    version: str | Missing = NOT_ASKED
    """From the real file's name: 9.10.2, 12.8.93 ..."""
    real_path: str = ""


class Cuda(Section, frozen=True, kw_only=True, omit_defaults=True):
    """CUDA toolkits and the loader's view."""

    toolkits: tuple[Toolkit, ...] | Missing = NOT_ASKED
    cuda_home: str | Missing | None = NOT_ASKED
    """CUDA_HOME or CUDA_PATH; None if unset."""
    nvcc_on_path: str | Missing | None = NOT_ASKED
    nvcc_version: str | Missing = NOT_ASKED
    """Of the nvcc that a build would use (CUDA_HOME first, then PATH)."""
    gcc_version: str | Missing = NOT_ASKED
    c_compiler: str | Missing | None = NOT_ASKED
    """Path of what compiles C at run time: CC, else gcc, else clang on PATH; None if there is none of them."""
    libraries: tuple[LoaderLibrary, ...] | Missing = NOT_ASKED
    ld_library_path: tuple[str, ...] | Missing = NOT_ASKED
    stub_directories: tuple[str, ...] | Missing = NOT_ASKED
    """Folders on LD_LIBRARY_PATH or in the loader's cache that hold link-time stubs (libcuda.so in stubs/)."""
