"""What every check about torch asks first: is it installed, which build, for which GPUs."""

from __future__ import annotations

from typing import Literal

from compat_matrix.versions import numbers, tag_cuda, torch_version

from ..findings import Matrix, Policy, Skip
from ..fixes.machine import SeenGpu, seen_gpus
from ..snapshot import Missing, NeedsFact, Snapshot, known, need

NO_CODE = ("torch-lacks-new-gpu-sm", "torch-dropped-old-gpu-sm")
"""Ids that say: torch has no code for this GPU."""

OTHER_BUILD = ("torch-not-installed", "cpu-only-torch", "torch-build-for-other-vendor")
"""Ids that say: this torch has no CUDA at all."""

REPLACED = (*NO_CODE, "driver-too-old-for-cuda-build")
"""Ids whose fix installs a different torch build: what belongs to this one need not be repaired first."""

BROKEN_IMPORT = (
    "libc-incompatible", "torch-shadowed-by-folder", "library-files-damaged", "bundled-cuda-libs-missing",
    "mixed-cuda-wheels",
    "ld-library-path-shadows-cuda-libs", "cudnn-shadowed-or-mismatched", "numpy-abi-mismatch",
    "user-site-shadows-packages", "torch-installed-twice",
)  # fmt: skip
"""Ids that say why `import torch` fails."""


def installed(s: Snapshot) -> str:
    """torch's version; the check is skipped if torch is not installed."""
    version = s.torch.version
    if isinstance(version, Missing) and version.reason == "absent":
        raise Skip("torch is not installed", without="torch")
    return need("torch.version", version)


def build_kind(s: Snapshot) -> Literal["cuda", "rocm", "xpu", "cpu"]:
    """What torch was built for: from its version file, else from its version's local tag."""
    version = installed(s)
    if not isinstance(s.torch.build, Missing):
        return s.torch.build
    parts = torch_version(version)
    local = parts.local if parts else ""
    for kind in ("cpu", "xpu", "rocm"):
        if local.startswith(kind):
            return kind
    if (parts and parts.tag) or known(s.torch.cuda) or known(s.torch_run.cuda):
        return "cuda"
    return need("torch.build", s.torch.build)


def cuda_build(s: Snapshot) -> str:
    """The CUDA version that torch was built with; the check is skipped for a build without CUDA."""
    kind = build_kind(s)
    if kind != "cuda":
        raise Skip(f"this torch was built for {kind.upper()}, not for CUDA")
    parts = torch_version(known(s.torch.version) or "")
    tagged = tag_cuda(parts.tag) if parts and parts.tag else None
    for version in (known(s.torch.cuda), known(s.torch_run.cuda), tagged):
        if version and numbers(version):
            return version
    given = need("torch.cuda", s.torch.cuda)
    raise NeedsFact("torch.cuda", Missing("error", f"{given!r} is not a version"))


def gpus(s: Snapshot, m: Matrix) -> list[SeenGpu]:
    """The GPUs that programs here get; the check is skipped if there is none, unknown if that cannot be determined."""
    found = seen_gpus(s, m)
    if found is None:
        if no_card(s):
            raise Skip("there is no NVIDIA GPU", without="gpu")
        need("gpus", s.gpus)
    if not found:
        raise Skip("no NVIDIA GPU was seen", without="gpu")
    return [gpu for gpu in found if not gpu.hidden]


def no_card(s: Snapshot) -> bool:
    """Whether the PCI list shows that there is no NVIDIA card (as no-nvidia-gpu judges it)."""
    devices = known(s.driver.pci_devices)
    if devices is None or known(s.host.wsl) in (1, 2):
        return False
    return not any(d.vendor == "10de" for d in devices)


def has_gpu(s: Snapshot) -> bool:
    """Whether any witness saw an NVIDIA GPU."""
    cards = known(s.driver.pci_devices) or ()
    return bool(known(s.gpus) or known(s.driver.cuda_devices) or any(d.vendor == "10de" for d in cards))


def gpu_needed(s: Snapshot, p: Policy) -> bool:
    """Whether torch must be able to use a GPU here: one is expected, or one is present and not ruled out."""
    return p.gpu_wanted or (p.expect.kind == "any" and has_gpu(s))


def unlisted(reason: str) -> NeedsFact:
    """The check is unknown because the matrix does not list something: never a failure."""
    return NeedsFact("compat_matrix", Missing("absent", reason))


def works(s: Snapshot) -> bool:
    """Whether torch was seen to run a kernel on the GPU."""
    return known(s.torch_run.kernel_ran) is True
