"""What is offered where a text tells of compilers, toolkits, Triton and the C library."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compat_matrix.versions import numbers

from ...findings import Fix
from ...fixes.install import Install, conda_line, executable, ways
from ...fixes.libc import newer_libc
from ...fixes.machine import capabilities, python_version, torch_cuda
from ...fixes.packages import installed
from ...fixes.toolchain import c_compiler, gcc_limit, nvcc, older_gcc, python_headers
from ...fixes.torch import install_torch
from ...fixes.triton import link_libcuda
from ...fixes.where import RECHECK, batch_job, container_kind, recheck_run
from ...snapshot import known
from .loader import libcuda_folder
from .parts import Told, one_step

_USUAL_CUDA = "12.8"
"""The toolkit where torch's CUDA version was not told."""


def _libc(t: Told) -> Iterable[Fix]:
    """In a cluster, whose system is old, a container brings its own C library."""
    if t.said.id in ("musl-loader", "pip-no-torch"):
        return (
            one_step(
                "newer-system",
                "Use an image with glibc",
                "Take Debian or Ubuntu in place of Alpine.",
                "FROM python:3.12-slim",
                "dockerfile",
                changes=recheck_run(t.s),
            ),
        )
    found = re.search(r"\b(GLIBCXX|CXXABI|GLIBC)_([\d.]{1,10})", t.text)
    fixes = newer_libc(t.s, found[0] if found else "GLIBC")
    if found and found[1] == "GLIBC" and batch_job(t.s):
        own = one_step(
            "run-in-container",
            "Run it in a container, which brings a newer C library",
            "The cluster's system cannot be changed; Apptainer needs no root.",
            "apptainer exec --nv docker://pytorch/pytorch python3 PROGRAM.py",
            "container-start",
            changes={**recheck_run(t.s), "host.libc": RECHECK},
        )
        return (own, *fixes)
    return fixes


def _toolkit(t: Told) -> Iterable[Fix | None]:
    """One that is there already, named; else one of torch's CUDA version."""
    built = torch_cuda(t.s, t.m)
    if not built and t.said.decides == "nvcc-torch-cuda-mismatch":
        return (_toolkit_of_torch(t),)
    major = f" (torch wants CUDA {built.partition('.')[0]}.x)" if built else ""
    cuda = built or known(t.s.cuda.nvcc_version) or _USUAL_CUDA
    cuda = ".".join(cuda.split(".")[:2])
    if known(t.s.host.system) == "windows":
        folder = f"C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v{cuda}"
        text = (
            f"Install the CUDA {cuda} toolkit from developer.nvidia.com/cuda-toolkit-archive (without its display "
            "driver) and the Visual Studio Build Tools, then in a new terminal:"
        )
        return (
            one_step(
                "install-toolkit",
                f"Install the CUDA {cuda} toolkit",
                text,
                f'$env:CUDA_HOME = "{folder}"',
                changes=recheck_run(t.s),
            ),
        )
    fixes = nvcc(t.s, t.m, cuda)
    changes = {"cuda.cuda_home": RECHECK}
    module = _module(t, "cuda", cuda) if batch_job(t.s) else None
    named = (
        one_step(
            "name-installed-toolkit",
            "Name the toolkit that is there: CUDA_HOME and PATH",
            f"Where one of these is there, name its folder{major}.",
            "ls -d /usr/local/cuda*/bin/nvcc /opt/cuda/bin/nvcc 2>/dev/null\n"
            "export CUDA_HOME=/usr/local/cuda PATH=/usr/local/cuda/bin:$PATH",
            changes=changes,
        )
        if t.said.id == "cuda-home-unset"
        else None
    )
    return (module, named, *fixes)


def _toolkit_of_torch(t: Told) -> Fix:
    """Which CUDA torch was built with was not told: it is asked first."""
    text = "The first line prints torch's CUDA version: name the toolkit of that version in place of X.Y."
    ask = f"{executable(t.s)} -c 'import torch; print(torch.version.cuda)'\n"
    if known(t.s.host.system) == "windows":
        return one_step(
            "toolkit-of-torch",
            "Compile with the CUDA toolkit of torch's version",
            text,
            f'{ask}$env:CUDA_HOME = "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\vX.Y"',
            changes={**recheck_run(t.s), "cuda.nvcc_version": RECHECK},
        )
    command = f"{ask}export CUDA_HOME=/usr/local/cuda-X.Y PATH=/usr/local/cuda-X.Y/bin:$PATH"
    return one_step(
        "toolkit-of-torch",
        "Compile with the CUDA toolkit of torch's version",
        text,
        command,
        changes={**recheck_run(t.s), "cuda.nvcc_version": RECHECK, "cuda.cuda_home": RECHECK},
    )


def _host_compiler(t: Told) -> Iterable[Fix | None]:
    """The newest gcc that the message, else the matrix, names for this nvcc."""
    if known(t.s.host.system) == "windows" or "visual studio" in t.text.lower():
        return (_build_tools("This CUDA toolkit takes another Visual Studio: 2022 for CUDA 11.6 and newer."),)
    said = re.search(r"versions later than (\d{1,2})", t.text) or re.search(r"less than (\d{1,2})", t.text)
    version = known(t.s.cuda.nvcc_version)
    limit = int(said[1]) if said else (gcc_limit(t.m, version) if version else None)
    if limit is None:
        limit = 12
    module = _module(t, "gcc", f"{limit}") if batch_job(t.s) else None
    conda = None
    if known(t.s.python.patient.kind) == "conda":
        conda = one_step(
            "older-gcc-conda",
            f"Compile with gcc {limit} of conda",
            "Into the environment that compiles.",
            conda_line(t.s, [f"gxx_linux-64={limit}"]),
            "environment",
            changes={"cuda.gcc_version": RECHECK},
        )
    return (conda, module, older_gcc(t.s, limit))


def _module(t: Told, name: str, version: str) -> Fix:
    """A module of the cluster: its users install no packages of the system."""
    exact = f"{name}/{version}" if version else name
    return one_step(
        f"load-{name}-module",
        f"Load the cluster's {name} module",
        f"'module avail {name}' lists what there is.",
        f"module load {exact}",
        changes={"cuda.c_compiler": RECHECK},
    )


def _build_tools(text: str) -> Fix:
    return one_step(
        "visual-studio-build-tools",
        "Install the Visual Studio Build Tools",
        f"{text} Then compile in its 'x64 Native Tools Command Prompt'.",
        "winget install Microsoft.VisualStudio.2022.BuildTools --override "
        '"--wait --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended"',
        changes={"cuda.c_compiler": RECHECK},
    )


def _toolchain(t: Told) -> Iterable[Fix | None]:
    """What is missing by its name: Python.h, ninja, CUDA's headers, a compiler."""
    lower = t.text.lower()
    if t.said.id == "jit-header-missing-windows":
        return (_python_for_windows(t),)
    if known(t.s.host.system) == "windows" or "visual c++" in lower or "compiler version for cl" in lower:
        return (_build_tools("It brings the compiler cl.exe."),)
    if "ninja" in lower:
        return (
            one_step(
                "install-ninja",
                "Install ninja",
                "torch builds extensions with it.",
                where="environment",
                changes=recheck_run(t.s),
                **ways(t.s, Install(packages=("ninja",))),
            ),
        )
    if "python.h" in lower:
        return (python_headers(t.s),)
    if "cuda_runtime" in lower or "cuda.h" in lower:
        return _toolkit(t)
    plus = any(word in lower for word in ("cc1plus", "g++", "c++"))
    return (_module(t, "gcc", "") if batch_job(t.s) else None, c_compiler(t.s, plus=plus))


def _python_for_windows(t: Told) -> Fix:
    """The embedded Python of ComfyUI and others comes without headers and import libraries."""
    tag = re.search(r"\bcp3(\d{1,2})-win", t.text)
    version = python_version(t.s) or (f"3.{tag[1]}" if tag else "3.X")
    short = "".join(version.split(".")[:2])
    place = re.search(r"([A-Za-z]:[\\/][^\"'<>|*?\n]{1,200}?)[\\/]lib[\\/]site-packages[\\/]", t.text, re.I)
    folder = place[1].replace("\\\\", "\\") if place else "python_embeded"
    text = (
        f"Install Python {version} from python.org for your user, and copy its folders include and libs beside "
        "python.exe of the program (libs is not Lib); then delete the folder .triton in your user's folder."
    )
    source = f"$env:LOCALAPPDATA\\Programs\\Python\\Python{short}"
    command = "\n".join(f'Copy-Item -Recurse "{source}\\{name}" "{folder}"' for name in ("include", "libs"))
    return one_step(
        "copy-python-headers",
        "Give this Python its headers and import libraries",
        text,
        command,
        "windows",
        changes=recheck_run(t.s),
        source="github.com/woct0rdho/triton-windows",
    )


def _triton_gpu(t: Told) -> Iterable[Fix | None]:
    if t.said.id == "triton-gpu-too-old":
        return (
            one_step(
                "without-compile",
                "Do without torch.compile on this GPU",
                "Triton needs compute capability 7.0 or newer; torch's own kernels do not.",
                "export TORCHDYNAMO_DISABLE=1",
                changes=recheck_run(t.s),
            ),
        )
    asked = re.search(r"'sm_(\d{1,2})(\d)'", t.said.text)
    told = (f"{asked[1]}.{asked[2]}",) if asked else tuple(capabilities(t.s, t.m))
    if told and all(numbers(cap) < (7, 5) for cap in told):  # CUDA 13 compiles for 7.5 and newer
        title = "Install a torch whose Triton and ptxas still know the GPU"
        older = one_step(
            "set-triton-ptxas-path",
            "Use the ptxas of CUDA 12",
            "ptxas of CUDA 13 dropped this GPU.",
            "export TRITON_PTXAS_PATH=/usr/local/cuda-12/bin/ptxas",
            changes=recheck_run(t.s),
        )
        return (install_torch(t.s, t.m, gpus=told, newest=True, title=title), older)
    title = "Install a newer torch, with the Triton that belongs to it"
    newer = install_torch(t.s, t.m, gpus=told or ("9.0", "12.0"), newest=True, title=title)
    ptxas = one_step(
        "set-triton-ptxas-path",
        "Use the ptxas of a newer CUDA toolkit",
        "Where a toolkit that knows the GPU is installed.",
        "export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",
        changes=recheck_run(t.s),
    )
    return (newer, ptxas)


def _triton_link(t: Told) -> Iterable[Fix]:
    """Where the driver's library lies: Apptainer's folder, WSL's, the distribution's."""
    if known(t.s.host.system) == "windows":
        return (
            one_step(
                "install-triton-windows",
                "Install the Triton that is made for Windows",
                "Triton's own wheels are for Linux; this build brings what it links with.",
                where="environment",
                changes=recheck_run(t.s),
                **ways(t.s, Install(packages=("triton-windows",))),
            ),
        )
    found = installed(t.s, ("triton", "pytorch-triton"))
    version = found[0].version if found else ""
    folder = libcuda_folder(t.s)
    version = version or ("3.0" if folder.startswith("/usr/lib/wsl") else "")
    fixes = link_libcuda(t.s, folder, "libcuda.so", version, recheck_run(t.s))
    link = one_step(
        "link-libcuda-for-user",
        "Give the linker the name libcuda.so in a folder of your own",
        "No root is needed.",
        f"mkdir -p ~/lib && ln -sf {folder}/libcuda.so.1 ~/lib/libcuda.so\n"
        "export LIBRARY_PATH=~/lib:$LIBRARY_PATH TRITON_LIBCUDA_PATH=$HOME/lib",
        changes=recheck_run(t.s),
    )
    rooted = [fix for fix in fixes if fix.id != "link-libcuda"]
    if container_kind(t.s) == "apptainer" or batch_job(t.s):
        return (*rooted, link)
    return (*rooted, *(fix for fix in fixes if fix.id == "link-libcuda"), link)


FIXES = {
    "libc-incompatible": _libc, "cuda-toolkit-missing": _toolkit, "nvcc-torch-cuda-mismatch": _toolkit,
    "nvcc-host-compiler-unsupported": _host_compiler, "jit-build-toolchain-missing": _toolchain,
    "triton-lacks-gpu-arch": _triton_gpu, "triton-libcuda-link-missing": _triton_link,
}  # fmt: skip
