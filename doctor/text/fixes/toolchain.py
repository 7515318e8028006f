"""Fixes for a reported fault of compilers, toolkits, Triton or the C library."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compat_matrix.versions import numbers

from ...findings import Fix
from ...fixes.install import conda_line
from ...fixes.interpreter import executable
from ...fixes.libc import newer_libc
from ...fixes.machine import capabilities, python_version, torch_cuda
from ...fixes.packages import installed
from ...fixes.toolchain import c_compiler, gcc_limit, nvcc, older_gcc, python_headers
from ...fixes.torch import install_torch
from ...fixes.triton import link_libcuda
from ...fixes.where import batch_job, container_kind, recheck_run
from ...snapshot import known
from .loader import libcuda_folder
from .parts import Evidence
from .written import written

_USUAL_CUDA = "12.8"
"""The toolkit if torch's CUDA version is unknown."""


def _libc(t: Evidence) -> Iterable[Fix]:
    """In a cluster, whose system is old, a container brings its own C library."""
    if t.symptom.id in ("musl-loader", "pip-no-torch"):
        return (written(t.s, "newer-system"),)
    found = re.search(r"\b(GLIBCXX|CXXABI|GLIBC)_([\d.]{1,10})", t.text)
    fixes = newer_libc(t.s, found[0] if found else "GLIBC")
    if found and found[1] == "GLIBC" and batch_job(t.s):
        return (written(t.s, "run-in-container"), *fixes)
    return fixes


def _toolkit(t: Evidence) -> Iterable[Fix | None]:
    """An installed one; else one of torch's CUDA version, which is looked up first if it is unknown."""
    windows = known(t.s.host.system) == "windows"
    built = torch_cuda(t.s, t.m)
    if not built and t.symptom.decides == "nvcc-torch-cuda-mismatch":
        ask = "toolkit-of-torch-windows" if windows else "toolkit-of-torch"
        return (written(t.s, ask, python=executable(t.s)),)
    cuda = ".".join((built or known(t.s.cuda.nvcc_version) or _USUAL_CUDA).split(".")[:2])
    if windows:
        return (written(t.s, "install-toolkit", cuda=cuda),)
    module = _module(t, "cuda", cuda) if batch_job(t.s) else None
    major = f" (torch needs CUDA {built.partition('.')[0]}.x)" if built else ""
    named = written(t.s, "name-installed-toolkit", major=major) if t.symptom.id == "cuda-home-unset" else None
    return (module, named, *nvcc(t.s, t.m, cuda))


def _host_compiler(t: Evidence) -> Iterable[Fix | None]:
    """The newest gcc that the message, else the matrix, names for this nvcc."""
    if known(t.s.host.system) == "windows" or "visual studio" in t.text.lower():
        why = "This CUDA toolkit needs a different Visual Studio version (2022 for CUDA 11.6 and newer)."
        return (written(t.s, "visual-studio-build-tools", why=why),)
    newest_known = re.search(r"versions later than (\d{1,2})", t.text) or re.search(r"less than (\d{1,2})", t.text)
    version = known(t.s.cuda.nvcc_version)
    limit = int(newest_known[1]) if newest_known else ((gcc_limit(t.m, version) if version else None) or 12)
    module = _module(t, "gcc", f"{limit}") if batch_job(t.s) else None
    conda = None
    if known(t.s.python.patient.kind) == "conda":
        line = conda_line(t.s, [f"gxx_linux-64={limit}"])
        conda = written(t.s, "older-gcc-conda", gcc=f"{limit}", command=line)
    return (conda, module, older_gcc(t.s, limit))


def _module(t: Evidence, name: str, version: str) -> Fix:
    """A module of the cluster, whose users cannot install system packages."""
    return written(t.s, "load-module", module=name, exact=f"{name}/{version}" if version else name)


def _toolchain(t: Evidence) -> Iterable[Fix | None]:
    """Depends on what is missing: Python.h, ninja, CUDA's headers, a compiler."""
    lower = t.text.lower()
    if t.symptom.id == "jit-header-missing-windows":
        return (_python_for_windows(t),)
    of_windows = t.symptom.id == "windows-compiler-absent" or known(t.s.host.system) == "windows"
    if of_windows or "visual c++" in lower or "compiler version for cl" in lower:
        return (written(t.s, "visual-studio-build-tools", why="They include the compiler cl.exe."),)
    if "ninja" in lower:
        return (written(t.s, "install-ninja"),)
    if "python.h" in lower:
        return (python_headers(t.s),)
    if "cuda_runtime" in lower or "cuda.h" in lower:
        return _toolkit(t)
    plus = any(word in lower for word in ("cc1plus", "g++", "c++"))
    return (_module(t, "gcc", "") if batch_job(t.s) else None, c_compiler(t.s, plus=plus))


def _python_for_windows(t: Evidence) -> Fix:
    """The embedded Python of ComfyUI and others comes without headers and import libraries."""
    tag = re.search(r"\bcp3(\d{1,2})-win", t.text)
    version = python_version(t.s) or (f"3.{tag[1]}" if tag else "3.X")
    short = "".join(version.split(".")[:2])
    prefix = re.search(r"([A-Za-z]:[\\/][^\"'<>|*?\n]{1,200}?)[\\/]lib[\\/]site-packages[\\/]", t.text, re.I)
    folder = prefix[1].replace("\\\\", "\\") if prefix else "python_embeded"
    return written(t.s, "copy-python-headers", version=version, short=short, folder=folder)


def _triton_gpu(t: Evidence) -> Iterable[Fix | None]:
    if t.symptom.id == "triton-gpu-too-old":
        return (written(t.s, "without-compile"),)
    arch = re.search(r"'sm_(\d{1,2})(\d)'", t.symptom.text)
    capabilities_named = (f"{arch[1]}.{arch[2]}",) if arch else tuple(capabilities(t.s, t.m))
    if capabilities_named and all(
        numbers(cap) < (7, 5) for cap in capabilities_named
    ):  # CUDA 13 compiles for 7.5 and newer
        title = "Install a torch whose Triton and ptxas still support the GPU"
        build = install_torch(t.s, t.m, gpus=capabilities_named, newest=True, title=title)
        return (build, written(t.s, "set-triton-ptxas-path-older"))
    title = "Install a newer torch with its matching Triton"
    build = install_torch(t.s, t.m, gpus=capabilities_named or ("9.0", "12.0"), newest=True, title=title)
    return (build, written(t.s, "set-triton-ptxas-path"))


def _triton_link(t: Evidence) -> Iterable[Fix]:
    """Where the driver's library is: Apptainer's folder, WSL's, or the distribution's."""
    if known(t.s.host.system) == "windows":
        return (written(t.s, "install-triton-windows"),)
    found = installed(t.s, ("triton", "pytorch-triton"))
    folder = libcuda_folder(t.s)
    version = (found[0].version if found else "") or ("3.0" if folder.startswith("/usr/lib/wsl") else "")
    fixes = link_libcuda(t.s, folder, "libcuda.so", version, recheck_run(t.s))
    link = written(t.s, "link-libcuda-for-linker", folder=folder)
    rooted = [fix for fix in fixes if fix.id != "link-libcuda"]
    if container_kind(t.s) == "apptainer" or batch_job(t.s):
        return (*rooted, link)
    return (*rooted, *(fix for fix in fixes if fix.id == "link-libcuda"), link)


FIXES = {
    "libc-incompatible": _libc, "cuda-toolkit-missing": _toolkit, "nvcc-torch-cuda-mismatch": _toolkit,
    "nvcc-host-compiler-unsupported": _host_compiler, "jit-build-toolchain-missing": _toolchain,
    "triton-lacks-gpu-arch": _triton_gpu, "triton-libcuda-link-missing": _triton_link,
}  # fmt: skip
