"""torch, twice: as its files say (never imported) and as it behaves (agent in a child process)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .fact import NOT_ASKED, Missing, Section
from .python import CodeLibrary


class TorchCaller(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A library of another package that calls torch's C++ functions, and those that this torch does not define."""

    path: str
    package: str
    symbols: int
    """How many names of torch it needs."""
    missing: tuple[str, ...] = ()
    """The first of those that neither torch's libraries nor the package's own define, as the loader would name them."""
    missing_count: int = 0


class Torch(Section, frozen=True, kw_only=True, omit_defaults=True):
    """The installed torch, from its files. `version` is Missing(absent) if torch is not installed."""

    version: str | Missing = NOT_ASKED
    """With its local tag: `2.6.0+cu124`."""
    location: str | Missing = NOT_ASKED
    build: Literal["cuda", "rocm", "xpu", "cpu"] | Missing = NOT_ASKED
    cuda: str | Missing = NOT_ASKED
    """CUDA version that it was built with (`12.4`); Missing(absent) in a build without CUDA."""
    hip: str | Missing = NOT_ASKED
    debug: bool | Missing = NOT_ASKED
    git_version: str | Missing = NOT_ASKED
    cxx11_abi: bool | Missing = NOT_ASKED
    installer: str | Missing = NOT_ASKED
    requires_python: str | Missing = NOT_ASKED
    requires: tuple[str, ...] | Missing = NOT_ASKED
    """Requires-Dist lines: torch's own pins of nvidia-* wheels, triton, numpy ..."""
    sass: tuple[str, ...] | Missing = NOT_ASKED
    """Architectures with machine code, judged over its kernel libraries by bytes: `8.6`, `9.0` ..."""
    ptx: tuple[str, ...] | Missing = NOT_ASKED
    arch_text: tuple[str, ...] | Missing = NOT_ASKED
    """Second witness: torch's own list as text in libtorch_python.so (`sm_86`, `compute_90`)."""
    libraries: tuple[CodeLibrary, ...] | Missing = NOT_ASKED
    """Its libraries with GPU code."""
    linked_libraries: tuple[str, ...] | Missing = NOT_ASKED
    """DT_NEEDED sonames of libtorch_cuda.so and its neighbours (libcudnn.so.9, libnccl.so.2 ...)."""
    missing_libraries: tuple[str, ...] | Missing = NOT_ASKED
    """Needed CUDA sonames that neither its RPATH folders nor the loader's path supply."""
    preloads: tuple[str, ...] | Missing = NOT_ASKED
    """Libraries (libnvJitLink) that its own start loads from the wheels before any other of that name, by
    torch/__init__.py."""
    cudnn_bundled: str | Missing = NOT_ASKED
    """Version of the cuDNN that would be loaded with torch (wheel or torch/lib), e.g. `9.10.2`."""
    cudnn_path: str | Missing = NOT_ASKED
    cudnn_shadow: str | Missing = NOT_ASKED
    """Path of a different cuDNN that LD_LIBRARY_PATH puts before torch's own; Missing(absent) if there is none."""
    nccl_bundled: str | Missing = NOT_ASKED
    nccl_path: str | Missing = NOT_ASKED
    callers: tuple[TorchCaller, ...] | Missing = NOT_ASKED
    """The compiled extensions with GPU code, and the libraries of required packages, that call its functions."""
    wheel_tag: str | Missing = NOT_ASKED
    """Tag of the published build that it is taken for (`cu124`), if only its CUDA is given and no file was read."""


class TorchRun(Section, frozen=True, kw_only=True, omit_defaults=True):
    """What torch itself answers in the patient's Python; Missing(not-asked) with --no-import."""

    imported: bool | Missing = NOT_ASKED
    import_error: str | Missing = NOT_ASKED
    """`ImportError: libcudnn.so.9: cannot open shared object file` ...; a crash or hang is described."""
    import_fault: Literal["raised", "crash", "hang"] | Missing = NOT_ASKED
    import_seconds: float | Missing = NOT_ASKED
    file: str | Missing = NOT_ASKED
    """torch.__file__: shows a folder named torch in the working directory that shadows the package."""
    version: str | Missing = NOT_ASKED
    cuda: str | Missing = NOT_ASKED
    python_version: str | Missing = NOT_ASKED
    cuda_available: bool | Missing = NOT_ASKED
    device_count: int | Missing = NOT_ASKED
    arch_list: tuple[str, ...] | Missing = NOT_ASKED
    cudnn_version: str | Missing = NOT_ASKED
    cudnn_error: str | Missing = NOT_ASKED
    nccl_version: str | Missing = NOT_ASKED
    first_call_code: int | Missing = NOT_ASKED
    """CUDA runtime code of the first CUDA call; 0 is success."""
    first_call_error: str | Missing = NOT_ASKED
    kernel_ran: bool | Missing = NOT_ASKED
    """Whether a small kernel gave the right answer on each visible device."""
    kernel_error: str | Missing = NOT_ASKED
    device_names: tuple[str, ...] | Missing = NOT_ASKED
    device_capabilities: tuple[str, ...] | Missing = NOT_ASKED
    warnings: tuple[str, ...] = ()
    libraries_loaded: tuple[str, ...] | Missing = NOT_ASKED
    """CUDA libraries mapped into the process after the import (/proc/self/maps)."""
