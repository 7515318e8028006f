"""Fixes for a reported fault of torch's build and its companions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compat_matrix.versions import numbers, torch_version

from ...findings import Fix
from ...fixes.companions import COMPILED, install_companion, older_numpy
from ...fixes.compatible import compatible_torch, usual_gpus
from ...fixes.driver import install_compatible, install_offered, offer
from ...fixes.install import Install
from ...fixes.interpreter import executable
from ...fixes.jetson import jetson_build
from ...fixes.libraries import reinstall_torch
from ...fixes.machine import capabilities, driver_platform, names_no_system, python_version, torch_cuda
from ...fixes.packages import installed
from ...fixes.python import new_python_fix
from ...fixes.torch import install_torch
from ...fixes.where import notebook
from ...fixes.which_torch import which_torch
from ...snapshot import Distribution, Snapshot, known
from .parts import Builder, Evidence
from .written import written

_OLD = ("5.0", "6.0", "6.1", "7.0", "7.5")
_NEW = ("9.0", "10.0", "12.0")


def _generation(t: Evidence, usual: Sequence[str], title: str) -> Iterable[Fix | None]:
    """The build for the GPU that the text names; if it names none, one for its generation."""
    if capabilities(t.s, t.m):
        return (compatible_torch(t.s, t.m),)
    return (install_torch(t.s, t.m, gpus=usual, title=title) or new_python_fix(t.s, t.m, usual),)


def _too_old_gpu(t: Evidence) -> Iterable[Fix | None]:
    return _generation(t, _OLD, "Install a torch build that still has code for older GPUs")


def _too_new_gpu(t: Evidence) -> Iterable[Fix | None]:
    return _generation(t, _NEW, "Install a torch build that has code for the newest GPUs")


def _ptx(t: Evidence) -> Iterable[Fix | None]:
    """A build with machine code for the GPU, or from an older CUDA; then the driver of the PTX's own CUDA."""
    build = install_torch(t.s, t.m) if known(t.s.torch.version) else None
    image = t.s.container.image_cuda
    cuda = torch_cuda(t.s, t.m) or (image if isinstance(image, str) else known(t.s.cuda.nvcc_version)) or ""
    if isa := re.search(r"Unsupported \.version (\d{1,2}\.\d)", t.text):
        cuda = next((row.cuda for row in t.m.toolkits if row.ptx_isa == isa[1]), cuda)
    floor = numbers(t.m.driver_for_cuda("1", cuda, driver_platform(t.s)).floor_full) if cuda else ()
    newer = install_offered(t.s, offer(t.s, t.m, floor[0])) if floor else install_compatible(t.s, t.m, newer=True)
    return (build, *newer) if build else (*newer, _compiled_anew(t))


def _compiled_anew(t: Evidence) -> Fix:
    """For a program that is compiled here: no PTX for the driver to compile, or PTX that it knows."""
    archs = [cc.replace(".", "") for cc in capabilities(t.s, t.m)] or ["NN"]
    flags = " ".join(f"-gencode arch=compute_{cc},code=sm_{cc}" for cc in archs)
    served = known(t.s.driver.cuda_version) or known(t.s.driver.nvml_cuda_version)
    older = f"with CUDA {served} or older" if served else "with a CUDA version that the driver supports"
    return written(t.s, "compile-machine-code", flags=flags, older=older)


def _python(t: Evidence) -> Iterable[Fix | None]:
    """The release that is asked for, with a Python that it has wheels for; else one that this Python has."""
    release = re.search(r"\btorch==(\d[\w.+]{0,40})", t.text)
    s = t.s.replace({"torch.version": release[1]}) if release and known(t.s.torch.version) is None else t.s
    wanted = tuple(capabilities(s, t.m)) or usual_gpus(s, t.m)
    have, version = python_version(s), torch_version(known(s.torch.version) or "")
    if notebook(t.s) and have is None:
        return (written(t.s, "install-torch-in-notebook"),)
    here = which_torch(s, t.m, gpus=wanted) if "torch" in t.text.lower() and have else None
    other = new_python_fix(s, t.m, wanted)
    if here is None:
        return (other,)
    title = f"Install torch {here.build.torch}, which has a wheel for Python {have}"
    fix = install_torch(s, t.m, gpus=wanted, title=title)
    if version and version.base != here.build.torch:  # the release that is wanted has none for this Python
        return (fix, other) if notebook(s) else (other, fix)
    return (fix if fix is None else Fix(id=fix.id, title=fix.title, steps=fix.steps, note=_bits(s, fix.note)),)


def _bits(s: Snapshot, note: str) -> str:
    """There are wheels, but pip found none: its Python is 32-bit, or it uses a different index."""
    note_command = f"  {executable(s)} -c 'import struct; print(struct.calcsize(\"P\") * 8)'"
    return "\n".join(
        [note, "If pip still finds no wheel, its Python is not 64-bit (a 64-bit Python prints 64 here):", note_command]
    )


def torch_again(t: Evidence, why: str) -> Fix:
    """Reinstall torch with everything that it pins; the same build if its version is known."""
    if torch_version(known(t.s.torch.version) or ""):
        return reinstall_torch(t.s, t.m, why)
    request = Install(packages=("torch",), all_again=True, index=_any_index(t))
    return written(t.s, "reinstall-torch", request, why=why)


def _any_index(t: Evidence) -> str:
    """The index of the torch build that is usual, for a text that names no system; '' for any other."""
    if not names_no_system(t.s):
        return ""
    found = which_torch(t.s, t.m, gpus=tuple(capabilities(t.s, t.m)) or usual_gpus(t.s, t.m))
    return (found.build.index_url or found.build.tagged_index_url) if found else ""


def _companion(t: Evidence) -> Iterable[Fix | None]:
    """The companions that the text names, in the versions of this torch; else all of them with torch."""
    version = known(t.s.torch.version) or ""
    lower = t.text.lower()
    names = [name for name in COMPILED if name in lower or installed(t.s, (name,))]
    named = [name for name in names if name in lower] or names
    if torch_version(version) and named:
        fixes = [install_companion(t.s, t.m, version, _of(t, name)) for name in named]
        return (_joined([fix for fix in fixes if fix]),)
    url, caps = _any_index(t), re.search(r"PyTorch has CUDA Version=(\d{2})\.(\d)", t.text)
    if caps:  # the driver serves that CUDA
        url = f"https://download.pytorch.org/whl/cu{caps[1]}{caps[2]}"
    request = Install(packages=("torch", *(names or ["torchvision"])), all_again=True, index=url)
    return (written(t.s, "install-companion", request),)


def _of(t: Evidence, name: str) -> Distribution:
    have = installed(t.s, (name,))
    return have[0] if have else Distribution(name=name, version="", location="")


def _joined(fixes: Sequence[Fix]) -> Fix | None:
    if not fixes:
        return None
    title = " and ".join(dict.fromkeys(fix.title for fix in fixes))
    return Fix(id=fixes[0].id, title=title, steps=tuple(step for fix in fixes for step in fix.steps))


_DROPPED_BY_13 = (7, 5)
"""CUDA 13 compiles for compute capability 7.5 and newer."""


def _nvrtc(t: Evidence) -> Iterable[Fix | None]:
    """A torch for a newer CUDA, whose NVRTC supports the GPU; the newest GPUs that a build for this Python supports."""
    caps = tuple(capabilities(t.s, t.m))
    of_torch = "torch" in t.text.lower() or known(t.s.torch.version) is not None
    if caps and all(numbers(cap) < _DROPPED_BY_13 for cap in caps):  # NVRTC is newer than the GPU
        if not of_torch:
            newest = "12" if all(numbers(cap) >= (5, 0) for cap in caps) else "11"
            return (written(t.s, "install-older-program", newest=newest),)
        title = "Install a torch build for a CUDA version that still supports the GPU"
        return (install_torch(t.s, t.m, gpus=caps, newest=True, title=title),)
    if not of_torch and "RuntimeError" not in t.symptom.text:
        return (written(t.s, "install-newer-program"),)
    title = "Install a torch build for a newer CUDA, whose NVRTC supports the GPU"
    for gpus in (caps,) if caps else (_NEW, ("8.9", "9.0"), ("8.6",)):
        if newer := install_torch(t.s, t.m, gpus=gpus, newest=True, title=title):
            return (newer,)
    return (new_python_fix(t.s, t.m, caps or _NEW) or compatible_torch(t.s, t.m),)


FIXES: dict[str, Builder] = {
    "torch-lacks-new-gpu-sm": _too_new_gpu, "torch-dropped-old-gpu-sm": _too_old_gpu, "ptx-newer-than-driver": _ptx,
    "python-version-without-wheel": _python, "torch-companion-mismatch": _companion,
    "nvrtc-lacks-gpu-arch": _nvrtc,
    "cpu-only-torch": lambda t: (compatible_torch(t.s, t.m),),
    "jetson-generic-wheel": lambda t: (jetson_build(t.s),),
    "numpy-abi-mismatch": lambda t: (older_numpy(t.s),),
}  # fmt: skip
