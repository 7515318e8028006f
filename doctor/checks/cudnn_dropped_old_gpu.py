"""torch's cuDNN no longer supports this GPU.

What is wrong: torch itself still has code for the GPU, but cuDNN 9.11 and newer require compute capability 7.5 (Turing)
or higher and no longer support Maxwell, Pascal and Volta.

Symptoms: matrix multiplications work, but convolutions fail: `CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH`, `no kernel
image is available`, `GET was unable to find an engine to execute this computation`.

Why it happens: something upgraded the cuDNN wheel beyond the version that torch pins, or a build with a newer cuDNN was
chosen for an older GPU.

How to fix it: install the last cuDNN that supports the GPU (9.10.2), or a torch build whose cuDNN still supports it.

Source: NVIDIA cuDNN support matrix.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy
from ..fixes.compatible import compatible_torch
from ..fixes.libraries import cudnn_wheels, install_pins
from ..fixes.pins import Pin
from ..snapshot import NOT_ASKED, Missing, Snapshot, known, need
from ._cudnn import compiled_with, is_compatible
from ._torch import REPLACED, cuda_build, gpus, unlisted

CHECK = Check(
    __name__,
    title="cuDNN no longer supports this GPU",
    sound="cuDNN has not dropped support for the GPU's architecture",
    severity="error",
    layer="libraries",
    tags=("torch", "cudnn", "gpu"),
    downstream_of=("no-nvidia-gpu", *REPLACED, "cudnn-shadowed-or-mismatched", "mixed-cuda-wheels"),
    source="docs.nvidia.com/deeplearning/cudnn: support matrix",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each GPU that torch's cuDNN no longer supports."""
    alone = known(s.torch.cudnn_bundled) and s.torch.version == NOT_ASKED and isinstance(s.torch.build, Missing)
    major = 0 if alone else numbers(cuda_build(s))[0]  # 0: a text names torch's cuDNN and not its CUDA
    cards = gpus(s, m)
    version = known(s.torch_run.cudnn_version) or known(s.torch.cudnn_bundled) or _wheel(s, major)
    if version is None:
        need("torch.cudnn_bundled", s.torch.cudnn_bundled)
        return
    for gpu in cards:
        if not gpu.capability:
            continue
        grade = m.cudnn_for_gpu(version, gpu.capability, major or None)
        if grade.grade == "dropped":
            yield CHECK.fail(
                f"cuDNN {version} no longer supports {gpu.name} ({gpu.capability})",
                f"{grade.reason}. Convolutions fail; other operations work.",
                facts={"cudnn": version, "compute_capability": gpu.capability},
                subject=gpu.key,
                direct=False,
                fixes=_fixes(s, m, gpu.capability, major),
            )
        elif grade.grade == "unknown" and m.cudnn(version) is None:
            raise unlisted(grade.reason)


def _wheel(s: Snapshot, major: int) -> str | None:
    """The cuDNN wheel in a text's list of packages, which a torch from pip loads; a conda torch includes its own."""
    if s.torch.cudnn_bundled != NOT_ASKED or (known(s.torch.installer) or "pip").startswith("conda"):
        return None
    listed = known(s.python.distributions) or ()
    if any(d.name in ("cudnn", "libcudnn") for d in listed):  # conda's name
        return None
    return next((d.version for d in listed if d.name == f"nvidia-cudnn-cu{major}"), None)


def _fixes(s: Snapshot, m: Matrix, capability: str, major: int) -> tuple[Fix, ...]:
    """The newest cuDNN wheel that still supports the GPU and that this torch accepts; else a different torch build."""
    compiled = compiled_with(s, m)
    found: list[Fix] = []
    for version, wheel in cudnn_wheels(m, capability, major):
        if compiled and is_compatible(version, compiled):
            pin = Pin(f"nvidia-cudnn-cu{major}", wheel, "")
            title = f"Install cuDNN {version}, the last version that supports this GPU"
            found.append(install_pins(s, [pin], id="install-older-cudnn", title=title))
            break
    other = compatible_torch(s, m)
    if other:
        found.append(other)
    return tuple(found)
