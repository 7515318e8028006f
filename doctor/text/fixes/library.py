"""Fixes for a reported fault of CUDA libraries: torch's own, cuDNN, NCCL, and what feeds the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from compat_matrix.versions import numbers, torch_version

from ...findings import Fix, Step
from ...findings.patterns import lazy
from ...fixes.compatible import compatible_torch
from ...fixes.distribution import RPM
from ...fixes.driver import other_host
from ...fixes.install import Install
from ...fixes.jetson import jetson_build
from ...fixes.libcuda import without_folders
from ...fixes.libraries import compiler_of_runtime, compilers_apart, cudnn_wheels, off_library_path
from ...fixes.machine import capabilities, torch_cuda
from ...fixes.packages import uninstall_command
from ...fixes.selection import environment_with
from ...fixes.speed import local_data, more_workers
from ...fixes.where import container_kind, driver_changes, recheck_run
from ...snapshot import known
from .loader import on_path_of_wheel
from .parts import Evidence
from .python import torch_again
from .written import written

_CUDNN_REQUIRED = lazy(
    r"(?:compil|buil[td]|expect|requir|header is)\w{0,16}(?:\s{1,3}(?:with|against))?(?:[_ ]version)?\s?[:=]?\s?[v(]?"
    r"(?:(\d{1,2})[.,]\s?(\d{1,2})|(\d{4,6})\b)",
    re.I,
)
_CUDNN_PART = lazy(r"64_(\d{1,2})\b|\.so\.(\d{1,2})\b")


def _pinned_again(t: Evidence) -> Iterable[Fix]:
    if t.symptom.id in ("nccl-versions", "nccl-rank-versions"):
        (again,) = torch_again(t, "with its NCCL").steps[-1:]
        fix = written(t.s, "same-nccl-everywhere")
        (step,) = fix.steps
        return (replace(fix, steps=(replace(step, command=again.command, alternatives=again.alternatives),)),)
    if t.symptom.id == "nccl-unhandled" and not torch_version(known(t.s.torch.version) or ""):
        return (_system_nccl(t),)
    return (torch_again(t, "with its CUDA libraries"),)


_OF_COMPILERS = ("ptxas-ptx-older", "headers-of-other-compiler")


def _mixed(t: Evidence) -> Iterable[Fix]:
    """The wheels of the other CUDA go first: removing them takes the shared files away too.

    If only the compiler's wheel differs, replace just that one.
    """
    if t.symptom.id in _OF_COMPILERS and (apart := compilers_apart(t.s)):
        return [compiler_of_runtime(t.s, nvcc, runtime) for nvcc, runtime in apart]
    again, cuda = torch_again(t, "with its CUDA libraries"), torch_cuda(t.s, t.m)
    have = known(t.s.python.distributions) or ()
    names = [d.name for d in have if re.fullmatch(r"nvidia-(?:cudnn|nccl)-cu\d\d", d.name)]
    own = f"-cu{cuda.partition('.')[0]}" if cuda else ""
    others = [name for name in names if own and not name.endswith(own)]
    if not others:
        return (again,)
    remove = Step(
        text="They install the same files as torch's own wheels.",
        command=uninstall_command(t.s, others),
        where="environment",
        destructive=True,
    )
    return (replace(again, title=f"Remove {', '.join(others)}, and reinstall torch", steps=(remove, *again.steps)),)


def _system_nccl(t: Evidence) -> Fix:
    """NCCL of the system: its packages carry the CUDA version that they are built for."""
    newest_cuda = (
        known(t.s.cuda.nvcc_version) or known(t.s.driver.nvml_cuda_version) or known(t.s.driver.cuda_version) or ""
    )
    cuda = ".".join(newest_cuda.split(".")[:2])
    rpm = (known(t.s.host.os_id) or "") in RPM
    built = f"CUDA {cuda}" if cuda else "the installed CUDA"
    return written(t.s, "install-nccl-rpm" if rpm else "install-nccl", built=built, cuda=cuda or "X.Y")


def _bundled(t: Evidence) -> Iterable[Fix]:
    if "jetson" in t.text.lower() or any("orin" in (known(g.name) or "").lower() for g in known(t.s.gpus) or ()):
        return (jetson_build(t.s),)
    return _pinned_again(t)


def _shadowed(t: Evidence) -> tuple[Fix, ...]:
    """Off the path: the folder that is named, else every folder of a toolkit."""
    if known(t.s.host.system) == "windows":
        return (written(t.s, "clear-path"),)
    if known(t.s.cuda.ld_library_path):
        paths = re.findall(r"(/[\w./+-]{3,160}/lib[\w+-]{2,40}\.so[.\d]{0,12})", t.text)
        return (off_library_path(t.s, paths),)
    return (written(t.s, "clear-ld-library-path", command=without_folders("cuda")),)


def _cudnn(t: Evidence) -> Iterable[Fix | None]:
    """Off the loader's path first; then the cuDNN that the message asks for, torch's own with torch."""
    lower = t.text.lower()
    off = off_library_path(t.s, ()) if known(t.s.cuda.ld_library_path) else None
    if _before_cudnn_9(t):
        request = Install(packages=("ctranslate2>=4.5",), upgrade=True)
        return (off, written(t.s, "newer-ctranslate2", request))
    framework = any(word in lower for word in ("tensorflow", "jax", "xla", "ctranslate2", "whisper"))
    if "torch" in lower or (torch_version(known(t.s.torch.version) or "") and not framework):
        if off is None and ("ld_library_path" in lower or "linked against" in lower):  # torch before 1.12 does not say
            off = _shadowed(t)[0]
        return (off, torch_again(t, "with its cuDNN"))
    return (off, _cudnn_wheel(t))


def _before_cudnn_9(t: Evidence) -> bool:
    """Whether CTranslate2 asks for cuDNN 8 beside a torch that brings cuDNN 9: CTranslate2 4.5.0 is the first for 9."""
    versions = {d.name: d.version for d in known(t.s.python.distributions) or ()}
    if not versions.keys() & {"ctranslate2", "faster-whisper", "whisperx"} or _cudnn_required(t.text)[:1] != (8,):
        return False
    parts = torch_version(known(t.s.torch.version) or "")
    release = t.m.torch_release(parts.base).release if parts else None
    own = (release.cudnn_per_build.get(parts.tag or "") or release.cudnn) if release and parts else ""
    return numbers(versions.get("ctranslate2") or "") < (4, 5) and numbers(own)[:1] == (9,)


def _cudnn_wheel(t: Evidence) -> Fix:
    """The cuDNN of the version that the message names, as a wheel on the loader's path; else a whole one."""
    wanted = _cudnn_required(t.text)
    version = ".".join(map(str, wanted))
    if wanted and wanted < (8,):
        return written(t.s, "download-cudnn", version=version)
    cuda = (numbers(torch_cuda(t.s, t.m) or known(t.s.driver.cuda_version)) or (12,))[0]
    bound = f">={version},<{wanted[0] + 1}" if len(wanted) > 1 else f"=={version}.*" if wanted else ""
    wheel = f"nvidia-cudnn-cu{11 if len(wanted) > 1 and wanted < (8, 9) else max(12, min(13, cuda))}"
    request = Install(packages=(wheel + bound,), again=() if wanted else (wheel,))
    names = ("install-cudnn", "reinstall-cudnn")
    if known(t.s.host.system) == "windows":
        names = ("install-cudnn-windows", "reinstall-cudnn-windows")
    name = names[0] if wanted else names[1]
    return written(t.s, name, request, f"\n{on_path_of_wheel(t, 'cudnn')}", version=version)


def _cudnn_required(text: str) -> tuple[int, ...]:
    """(8, 5) of `compiled against (8, 5, 0)`, `compiled with: 8.5.0`, `compiled=8500`; (9,) of `cudnn_ops64_9.dll`;
    () if the text names no version."""
    found = _CUDNN_REQUIRED.search(text)
    if found and found[1]:
        return int(found[1]), int(found[2])
    if found:
        number = int(found[3])
        return (number // 10_000, number // 100 % 100) if number >= 90_000 else (number // 1000, number // 100 % 10)
    part = _CUDNN_PART.search(text)
    return (int(part[1] or part[2]),) if part else ()


def _cudnn_old_gpu(t: Evidence) -> Iterable[Fix | None]:
    """The newest cuDNN that supports the GPU, by the matrix; if the text names no GPU, which GPUs need which."""
    wanted = next(iter(capabilities(t.s, t.m)), "")
    if not wanted:
        return (written(t.s, "cudnn-by-gpu"),)
    major = (numbers(torch_cuda(t.s, t.m)) or (12,))[0]
    for version, wheel in cudnn_wheels(t.m, wanted, major):
        request = Install(packages=(f"nvidia-cudnn-cu{major}=={wheel}",))
        fix = written(t.s, "install-older-cudnn", request, version=version)
        return (fix, compatible_torch(t.s, t.m) if known(t.s.torch.version) else None)
    return (other_host(t.s, "whose GPU cuDNN supports", {**driver_changes(), **recheck_run(t.s)}),)


def _interface(t: Evidence) -> Iterable[Fix]:
    """The interface that leads to the peers: looked up, then named, the bridge ruled out meanwhile."""
    pod = container_kind(t.s) == "kubernetes"
    changes = {"host.environment": environment_with(t.s, "NCCL_SOCKET_IFNAME", "^docker0")}
    return (written(t.s, "name-nccl-interface-of-pod" if pod else "name-nccl-interface", changes=changes),)


def _peers(t: Evidence) -> Iterable[Fix]:
    """At once without peer-to-peer; for good in the firmware."""
    changes = {"host.environment": environment_with(t.s, "NCCL_P2P_DISABLE", "1")}
    return (written(t.s, "without-p2p", changes=changes), written(t.s, "acs-off", changes=changes))


def _pipeline(t: Evidence) -> Iterable[Fix]:
    cores = known(t.s.host.cpu_cores)
    if t.symptom.id == "threads-told":
        count = str(max(1, min(16, (cores or 8) // max(1, len(known(t.s.gpus) or ()) or 1))))
        changes = {"host.environment": environment_with(t.s, "OMP_NUM_THREADS", count)}
        return (written(t.s, "fewer-threads", changes=changes, count=count),)
    fixes = (more_workers(cores), local_data())
    return fixes[::-1] if t.symptom.id == "slow-storage-told" else fixes


FIXES = {
    "bundled-cuda-libs-missing": _bundled, "mixed-cuda-wheels": _mixed, "nccl-version-conflict": _pinned_again,
    "ld-library-path-shadows-cuda-libs": _shadowed, "cudnn-shadowed-or-mismatched": _cudnn,
    "cudnn-dropped-old-gpu": _cudnn_old_gpu, "ranks-meet-on-wrong-interface": _interface,
    "acs-redirects-peer-traffic": _peers, "dataloader-bound": _pipeline,
}  # fmt: skip
