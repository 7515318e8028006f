"""What the matrix adds to a text's facts: the capability of a GPU known by name, the build of a release."""

from __future__ import annotations

import re

from msgspec.structs import replace

from compat_matrix.packages import package_names

from ..findings import Matrix
from ..formats.lazy import lazy
from ..snapshot import Missing, Snapshot, known
from .plausible import AT_A_KERNEL

_MOBILE = lazy(r"(?: ?(?:/|(?:with )?Max-Q(?: Design)?|Mobile|Laptop(?: GPU)?|LHR))+$", re.I)
"""What lspci and people add to a board's name: its chip is of the same generation."""


def enriched(s: Snapshot, m: Matrix) -> Snapshot:
    """The Snapshot of a text with everything that follows from it."""
    return with_tag(with_build(with_capabilities(s, m), m))


def with_capabilities(s: Snapshot, m: Matrix) -> Snapshot:
    """A text names GPUs; their compute capability is the matrix's, where the name leaves no choice."""
    if isinstance(s.gpus, Missing):
        return s
    gpus = []
    for gpu in s.gpus:
        name = known(gpu.name)
        if isinstance(gpu.compute_capability, Missing) and name:
            size = known(gpu.memory_total_mib)
            cc = m.gpu(name, known(gpu.pci_device_id), None, size).capability
            plain = _MOBILE.sub("", name)
            cc = cc or m.gpu(plain, None, None, size).capability or m.gpus_like(plain).capability
            gpu = replace(gpu, compute_capability=cc) if cc else gpu
        gpus.append(gpu)
    return replace(s, gpus=tuple(gpus))


def with_build(s: Snapshot, m: Matrix) -> Snapshot:
    """A torch whose CUDA is not told, and that had no code for the GPU: the build that PyPI gives, if it has none.

    A build of the release that has code for it did not say so; where an extension may have said it, or nobody did, all
    must lack it.
    """
    version = known(s.torch.version)
    if not version or not isinstance(s.torch.cuda, Missing) or s.torch.cuda.reason != "not-asked":
        return s
    at_a_kernel = any(symptom.id in AT_A_KERNEL for symptom in s.symptoms)
    if "+" in version or not isinstance(s.torch.build, Missing):
        return s
    platform = (
        "windows"
        if known(s.host.system) == "windows"
        else ("linux_aarch64" if known(s.host.architecture) == "aarch64" else "linux_x86_64")
    )
    rows = [row for row in m.torch_builds(version, platform) if row.sass and row.confidence != "memory"]
    rows = [row for row in rows if row.published not in ("no", "dropped")]
    usual = next((row for row in rows if row.tag == m.pypi_tag(version, platform)), rows[-1] if rows else None)
    words = " ".join(
        [*(d.name for d in known(s.python.distributions) or ()), *(symptom.text for symptom in s.symptoms)]
    )
    extension = any(name in words.lower().replace("_", "-") for name in package_names(m)) or any(
        symptom.id == "extension-named" for symptom in s.symptoms
    )
    for gpu in known(s.gpus) or ():
        cc = known(gpu.compute_capability)
        candidates = [usual] if at_a_kernel and not extension else rows
        if usual and cc and all(row and m.code_for_gpu(cc, row.sass, row.ptx).kind == "none" for row in candidates):
            digits = usual.tag.removeprefix("cu")
            return s.replace({"torch.cuda": f"{digits[:-1]}.{digits[-1]}", "torch.build": "cuda"})
    return s


def with_tag(s: Snapshot) -> Snapshot:
    """The tag of a plain version by the CUDA that is told; conda-forge builds releases for other GPUs."""
    cuda = (known(s.torch.cuda) or "").split(".")
    if len(cuda) < 2 or known(s.torch.installer) == "conda-forge":
        return s
    return s.replace({"torch.wheel_tag": f"cu{cuda[0]}{cuda[1]}"})
