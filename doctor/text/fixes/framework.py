"""Fixes for a program other than torch that does not find its CUDA libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...findings import Fix
from ...findings.patterns import lazy
from ...fixes.frameworks import cuda_arrays, cuda_major_for
from ...fixes.install import Install
from ...fixes.machine import torch_cuda
from ...snapshot import known
from .loader import on_path_of_wheel
from .parts import Evidence
from .written import written

_NAMED = lazy(
    r"\b(?:lib)?(cudart|cublasLt|cublas|cudnn|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink|nccl)"
    r"(?:_\w{1,24})?(?:64_(\d{1,3})|\.so(?:\.(\d{1,2}))?|['\"])"
)
_ARRAYS = lazy(r"cupy|numba|nvvm(?!/libdevice)", re.I)
"""CuPy, Numba, and the compiler library that only Numba loads; XLA too looks in the folder nvvm/libdevice."""
_WHEELS = {"cudart": "cuda-runtime", "cublasLt": "cublas", "nvrtc": "cuda-nvrtc", "nvJitLink": "nvjitlink"}
_OLD_SONAMES = {"cufft": 1, "curand": 2, "cusolver": 1}
"""Libraries whose number is not CUDA's: what is to be added for the CUDA of that time (cuFFT 11 is of CUDA 12)."""


def libraries(t: Evidence) -> Iterable[Fix]:
    """CuPy's and Numba's own packages; else the library as a wheel, or the folder of one that is there.

    None for a library that is not named, or not one of CUDA's own: the message has a fix.
    """
    if t.symptom.id.startswith("numba-") or _ARRAYS.search(t.text):
        return (cuda_arrays(t.s, known(t.s.cuda.nvcc_version) or torch_cuda(t.s, t.m) or "", t.text),)
    found = _NAMED.search(t.text)
    if found is None:
        return ()
    name, major = found[1], _cuda_major(found[1], found[2] or found[3] or "")
    windows = known(t.s.host.system) == "windows"
    here = written(t.s, "name-library-folder-windows" if windows else "name-library-folder", file=f"lib{name}.so")
    if name == "cudnn":
        wanted = found[2] or found[3] or ""
        wheel = f"nvidia-cudnn-cu{cuda_major_for(t.s) if wanted != '8' else 12}{f'=={wanted}.*' if wanted else ''}"
    elif major in (11, 12):
        wheel = f"nvidia-{_WHEELS.get(name, name)}-cu{major}"
    else:  # wheels begin with CUDA 11; those of CUDA 13 have other folders
        return (here,)
    more = on_path_of_wheel(t, _WHEELS.get(name, name).replace("-", "_"))
    put = written(t.s, "install-cuda-library", Install(packages=(wheel,)), f"\n{more}", wheel=wheel.partition("=")[0])
    return (put, here)


def _cuda_major(name: str, number: str) -> int:
    """CUDA's major of a library's number (`cudart64_110` is 11); 0 where it has none."""
    if not number:
        return 0
    major = int(number) // 10 if len(number) == 3 else int(number)
    return major + _OLD_SONAMES.get(name, 0)
