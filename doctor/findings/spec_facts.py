"""What a machine has of what a spec names: one answer for each of its lines, for the check and for `print spec`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..snapshot import Missing, Snapshot, known
from .spec import WSL, SpecLine, system

Have: TypeAlias = "str | Missing | None"
"""A version; None if there is none for certain; Missing if it is not known."""


def have(s: Snapshot, line: SpecLine) -> Have:
    """The version here of what a line is about; of `os` the version of the system (its name: `system_name`)."""
    if line.key == "package":
        return _package(s, line.package)
    if line.key == "os" and system(line.allowed)[0] == WSL:
        return s.host.wsl if isinstance(s.host.wsl, Missing) else str(s.host.wsl) if s.host.wsl else None
    return _BY_KEY[line.key](s)


def system_name(s: Snapshot) -> str | Missing:
    """`ubuntu`, `debian`, `windows` ..., as os-release has it."""
    system: str | None = known(s.host.system)
    return s.host.os_id if system in (None, "linux") else s.host.system


def _absent(fact: object) -> bool:
    return isinstance(fact, Missing) and fact.reason == "absent"


def _torch(s: Snapshot) -> Have:
    return None if _absent(s.torch.version) else s.torch.version


def _package(s: Snapshot, name: str) -> Have:
    found = s.python.distribution(name)
    if found is None and s.python.distributions_partial:
        return Missing("not-asked", "only some of the packages are known")
    return found if found is None or isinstance(found, Missing) else found.version


def _cuda(s: Snapshot) -> Have:
    """The CUDA that torch was built with; without torch that of the toolkit or of the image."""
    if not _absent(s.torch.version):
        if isinstance(s.torch.cuda, Missing) and isinstance(s.torch_run.cuda, str):
            return s.torch_run.cuda
        return None if _absent(s.torch.cuda) else s.torch.cuda
    found = (s.cuda.nvcc_version, s.container.image_cuda)
    return next((one for one in found if isinstance(one, str)), None if _absent(s.cuda.nvcc_version) else found[0])


def _cudnn(s: Snapshot) -> Have:
    return _library(s, "libcudnn", s.torch_run.cudnn_version, s.torch.cudnn_bundled)


def _nccl(s: Snapshot) -> Have:
    return _library(s, "libnccl", s.torch_run.nccl_version, s.torch.nccl_bundled)


def _library(s: Snapshot, name: str, loaded: str | Missing, bundled: str | Missing) -> Have:
    """What torch loaded, else what it would load; else, also without torch, what the loader would take."""
    if not _absent(s.torch.version):
        for one in (loaded, bundled):
            if isinstance(one, str):
                return one
        if not _absent(bundled):
            return bundled
    if isinstance(s.cuda.libraries, Missing):
        return s.cuda.libraries
    return next((one.version for one in s.cuda.libraries if one.name == name), None)


_BY_KEY: dict[str, Callable[[Snapshot], Have]] = {
    "torch": _torch, "driver": lambda s: s.driver.version, "cuda": _cuda, "cudnn": _cudnn, "nccl": _nccl,
    "python": lambda s: s.python.patient.version, "os": lambda s: s.host.os_version,
}  # fmt: skip
