"""What is offered where a program that is not torch does not find its CUDA libraries."""

from __future__ import annotations

from collections.abc import Iterable

from ...findings import Fix
from ...findings.patterns import lazy
from ...fixes.frameworks import cuda_arrays, cuda_major_for
from ...fixes.install import Install, ways
from ...fixes.machine import torch_cuda
from ...fixes.where import RECHECK, recheck_run
from ...snapshot import known
from .parts import Told, one_step

_NAMED = lazy(
    r"\b(?:lib)?(cudart|cublasLt|cublas|cudnn|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink|nccl)"
    r"(?:_\w{1,24})?(?:64_(\d{1,3})|\.so(?:\.(\d{1,2}))?)"
)
_WHEELS = {"cudart": "cuda-runtime", "cublasLt": "cublas", "nvrtc": "cuda-nvrtc", "nvJitLink": "nvjitlink"}
_OLD_SONAMES = {"cufft": 1, "curand": 2, "cusolver": 1}
"""Libraries whose number is not CUDA's: what is to be added for the CUDA of that time (cuFFT 11 is of CUDA 12)."""


def libraries(t: Told) -> Iterable[Fix]:
    """CuPy's and Numba's own packages; else the library as a wheel, or the folder of one that is there."""
    lower = t.text.lower()
    if "cupy" in lower or "nvvm" in lower or "numba" in lower:
        return (cuda_arrays(t.s, known(t.s.cuda.nvcc_version) or torch_cuda(t.s, t.m) or "", t.text),)
    found = _NAMED.search(t.text)
    name, major = (found[1], _cuda_major(found[1], found[2] or found[3] or "")) if found else ("cublas", 0)
    here = _folder_of(t, f"lib{name}.so")
    if name == "cudnn":
        wanted = (found[2] or found[3] or "") if found else ""
        wheel = f"nvidia-cudnn-cu{cuda_major_for(t.s) if wanted != '8' else 12}{f'=={wanted}.*' if wanted else ''}"
    elif major in (11, 12):
        wheel = f"nvidia-{_WHEELS.get(name, name)}-cu{major}"
    else:  # wheels begin with CUDA 11; those of CUDA 13 have other folders
        return (here,)
    module = {"cudart": "cuda_runtime", "cublasLt": "cublas", "nvrtc": "cuda_nvrtc", "nvJitLink": "nvjitlink"}
    find = f"import nvidia.{module.get(name, name)} as c; print(list(c.__path__)[0])"
    if known(t.s.host.system) == "windows":
        more = f"$env:PATH = \"$(python -c '{find}')\\bin;$env:PATH\""
    else:
        more = f"export LD_LIBRARY_PATH=$(python3 -c '{find}')/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
    title = f"Install {wheel.partition('=')[0]}, and let the program find it"
    text = "Both in the environment that runs the program; the second line before it starts."
    put = one_step(
        "install-cuda-library",
        title,
        text,
        where="environment",
        changes={**recheck_run(t.s), "python.distributions": RECHECK},
        **ways(t.s, Install(packages=(wheel,)), after=f"\n{more}"),
    )
    return (put, here)


def _cuda_major(name: str, number: str) -> int:
    """CUDA's major of a library's number (`cudart64_110` is 11); 0 where it has none."""
    if not number:
        return 0
    major = int(number) // 10 if len(number) == 3 else int(number)
    return major + _OLD_SONAMES.get(name, 0)


def _folder_of(t: Told, file: str) -> Fix:
    """A copy that is on the machine already, on the loader's path."""
    if known(t.s.host.system) == "windows":
        text = "Where the CUDA toolkit of that version is installed: its bin folder on PATH, before the program starts."
        command = '$env:PATH = "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\vX.Y\\bin;$env:PATH"'
    else:
        text = "Where the first line finds the version that is asked for, name its folder; else install that toolkit."
        command = (
            f"find / -name '{file}*' -not -path '*/stubs/*' 2>/dev/null\n"
            "export LD_LIBRARY_PATH=/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
        )
    return one_step(
        "name-library-folder", "Name the folder of the library that is there", text, command, changes=recheck_run(t.s)
    )
