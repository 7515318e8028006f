"""A folder on LD_LIBRARY_PATH supplies a CUDA library in place of the one that PyTorch ships.

What is wrong: the loader searches LD_LIBRARY_PATH before the folders that a library itself names (RUNPATH), so an older
libnvJitLink, libcublas or libcusparse from a toolkit is loaded instead of the wheel's.

Symptoms: `.../nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version
libnvJitLink.so.12`, `undefined symbol: cublasLt...`, CUBLAS_STATUS_NOT_INITIALIZED.

Why it happens: `export LD_LIBRARY_PATH=/usr/local/cuda/lib64:...` in ~/.bashrc, in a cluster's module file or in a
Dockerfile. PyTorch's wheels do not need this setting.

How to fix it: remove the folder from LD_LIBRARY_PATH.

This is a failure only if PyTorch fails because of this library, and a warning if an older library was found to be
loaded, or if the folder contains an older libnvJitLink or libcublasLt (which PyTorch's wheels find through RUNPATH). A
library of the same or a newer version is harmless.

Source: ld.so(8); torch issue 111469.
"""

from __future__ import annotations

from typing import Any

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.libraries import off_library_path
from ..fixes.pins import cuda_pins, library_of, older
from ..snapshot import LoaderLibrary, Snapshot, known, need
from ._errors import first_line, import_failed, texts, undefined_symbol
from ._torch import cuda_build

CHECK = Check(
    __name__,
    title="LD_LIBRARY_PATH hides torch's CUDA libraries",
    sound="No older library on LD_LIBRARY_PATH hides one of torch's CUDA libraries",
    severity="error",
    layer="libraries",
    tags=("torch", "libraries"),
    downstream_of=("mixed-cuda-wheels",),
    needs_gpu=False,
    source="man7.org/linux/man-pages/man8/ld.so.8.html",
)


_WHEELS = {
    "libcudart": "cuda-runtime", "libcublas": "cublas", "libcublasLt": "cublas", "libnvrtc": "cuda-nvrtc",
    "libnvJitLink": "nvjitlink", "libcusparse": "cusparse", "libcusolver": "cusolver", "libcufft": "cufft",
    "libcurand": "curand", "libnccl": "nccl", "libcupti": "cuda-cupti",
}  # fmt: skip
_BY_RUNPATH = ("libnvJitLink", "libcublasLt")
"""Not named by torch's own libraries (which have an RPATH) but by those of the wheels."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for the library that broke the import; warns about older ones that are, or would be, loaded."""
    cuda = cuda_build(s)
    libraries = need("cuda.libraries", s.cuda.libraries)
    errors = texts(s)
    symbol, guilty = undefined_symbol(errors)
    preloads = known(s.torch.preloads)
    if preloads is None:  # a build that is not installed here: look up its release
        preloads = m.torch_preloads(known(s.torch.version) or "")
    for item in libraries:
        if item.found_by != "LD_LIBRARY_PATH" or item.name not in _WHEELS or not _same_soname(s, item, cuda):
            continue
        pinned, version = _pinned(s, item.name), known(item.version)
        is_older = bool(pinned and version and older(version, pinned))
        folder = item.path.rpartition("/")[0]
        facts: dict[str, Any] = {"library": item.path, "version": version, "pinned": pinned, "symbol": symbol}
        title = f"{item.path} hides torch's own {item.soname}"
        words = f"{folder} is on LD_LIBRARY_PATH and is searched before the wheel's folder."
        if version and pinned:
            words += f" The library there is version {version}; torch pins {pinned}."
        fix = off_library_path(s, (item.path,))
        fixes = (fix,)
        if _is_guilty(item, guilty, errors, is_older):
            detail = f"{words} Python says: {first_line(errors)}"
            yield CHECK.fail(title, detail, facts=facts, subject=item.soname, fixes=fixes)
        elif is_older and _breaks_cusparse(s, item, version, pinned, preloads):
            detail = f"{words} This torch does not load its own copy first, so `import torch` fails (undefined symbol)."
            yield CHECK.fail(title, detail, facts=facts, subject=item.soname, direct=False, fixes=fixes)
        elif is_older and _is_loaded(s, item, preloads or ()):
            yield CHECK.warn(title, words, facts=facts, subject=item.soname, direct=bool(symbol), fixes=fixes)


def _same_soname(s: Snapshot, item: LoaderLibrary, cuda: str) -> bool:
    """Whether torch, or a library of its wheels, needs exactly this soname."""
    if item.soname in (known(s.torch.linked_libraries) or ()):
        return True
    return item.name in _BY_RUNPATH and item.soname.endswith(f".so.{numbers(cuda)[0]}")


def _is_guilty(item: LoaderLibrary, guilty: str, errors: str, is_older: bool) -> bool:
    if guilty == item.name or (guilty == "libcublas" and item.name == "libcublasLt"):
        return is_older or known(item.version) is None
    return item.path in errors and ("undefined symbol" in errors or "not found (required by" in errors)


def _is_loaded(s: Snapshot, item: LoaderLibrary, preloads: tuple[str, ...]) -> bool:
    """Seen in torch's process; if torch was not run, one that its wheels find through RUNPATH would be loaded."""
    maps = known(s.torch_run.libraries_loaded)
    if maps:
        return bool({item.path, item.real_path} & set(maps))
    return import_failed(s) is None and item.name in _BY_RUNPATH and item.name not in preloads


def _breaks_cusparse(
    s: Snapshot, item: LoaderLibrary, version: str | None, pinned: str, preloads: tuple[str, ...] | None
) -> bool:
    """An nvJitLink of an older CUDA minor, which lacks the symbols that cuSPARSE asks for, and that torch does not
    forestall; where the import was tried, that decides."""
    if item.name != "libnvJitLink" or preloads is None or item.name in preloads or import_failed(s) is not None:
        return False
    return numbers(version or "")[:2] < numbers(pinned)[:2]


def _pinned(s: Snapshot, name: str) -> str:
    return next((pin.version for pin in cuda_pins(s) if library_of(pin.name) == _WHEELS[name]), "")
