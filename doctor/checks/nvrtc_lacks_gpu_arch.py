"""The run-time compiler (NVRTC) that comes with PyTorch does not support this GPU.

What is wrong: some functions of PyTorch (fused and complex-number kernels), CuPy and other packages compile CUDA code
at run time with libnvrtc. The libnvrtc of this PyTorch is older than the GPU and rejects its architecture; PyTorch's
prebuilt kernels do run.

Symptoms: `nvrtc: error: invalid value for --gpu-architecture (-arch)`.

Why it happens: binary compatibility lets an older build run on a newer GPU of the same family (CUDA 11.3 on an RTX
4090, CUDA 12.8 on a GB10), but that rule does not apply to NVRTC.

How to fix it: install a PyTorch built with a CUDA version that supports the GPU (CUDA 11.8 for compute capability 8.9
and 9.0, 12.8 for 10.0 and 12.0, 12.9 for 10.3 and 12.1, 13.0 for 11.0).

This is a warning, or a failure if the error message was seen.

Source: targets of nvcc of each toolkit; version of the NVRTC wheel.
"""

from __future__ import annotations

from compat_matrix.versions import minor, numbers, tag_cuda, torch_version

from ..findings import Check, Findings, Fix, Matrix, Policy, Step
from ..fixes.install import Install, ways
from ..fixes.packages import site_packages, with_distributions
from ..fixes.torch import install_torch
from ..snapshot import Distribution, Snapshot, need
from ._errors import first_line, texts
from ._torch import NO_CODE, cuda_build, gpus, unlisted

CHECK = Check(
    __name__,
    title="The run-time compiler NVRTC does not support this GPU",
    sound="NVRTC was not found to be too old for the GPU",
    severity="warning",
    layer="libraries",
    tags=("torch", "libraries", "gpu"),
    downstream_of=(*NO_CODE, "no-nvidia-gpu", "mixed-cuda-wheels", "nvidia-wheels-off-torch-pins"),
    source="docs.nvidia.com/cuda/nvrtc: supported compile options",
)

_ERROR = "invalid value for --gpu-architecture"


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each GPU that is newer than the NVRTC for torch's CUDA; fails where NVRTC said so."""
    cuda = cuda_build(s)
    failed = _ERROR in (text := texts(s))
    need("python.distributions", s.python.distributions)
    wheel = _wheel(s, cuda)
    version = wheel.version if wheel else cuda
    reported = False
    for gpu in gpus(s, m):
        row = m.compute_capability(gpu.capability) if gpu.capability else None
        if gpu.capability and row is None:
            raise unlisted(f"compute capability {gpu.capability} is not listed in this matrix")
        first, have = minor(row.first_toolkit) if row else None, minor(version)
        if row is None or first is None or have is None or have >= first:
            continue
        reported = True
        title = f"NVRTC {version} does not support {gpu.name} ({gpu.capability}), which needs "
        title += f"CUDA {row.first_toolkit} or newer"
        detail = "Code that torch or CuPy compiles at run time fails on this GPU."
        if failed:
            detail += f" Python says: {first_line(text)}"
        facts = {"nvrtc": version, "compute_capability": gpu.capability, "first_toolkit": row.first_toolkit}
        fixes = _fixes(s, m, cuda, row.first_toolkit)
        if failed:
            yield CHECK.fail(title, detail, facts=facts, subject=gpu.key, severity="error", fixes=fixes)
        else:
            yield CHECK.warn(title, detail, facts=facts, subject=gpu.key, direct=False, fixes=fixes)
    if failed and not reported:
        fixes = _fixes(s, m, cuda, "")
        yield CHECK.fail(
            "NVRTC rejects the GPU's architecture",
            first_line(text),
            facts={"nvrtc": version},
            severity="error",
            fixes=fixes,
        )


def _wheel(s: Snapshot, cuda: str) -> Distribution | None:
    """The NVRTC wheel for torch's CUDA major version (older builds carry the library in torch/lib)."""
    major = cuda.partition(".")[0]
    for name in (f"nvidia-cuda-nvrtc-cu{major}", "nvidia-cuda-nvrtc"):
        found = s.python.distribution(name)
        if isinstance(found, Distribution) and found.version.partition(".")[0] == major:
            return found
    return None


def _fixes(s: Snapshot, m: Matrix, cuda: str, first: str) -> tuple[Fix, ...]:
    found = []
    newer = install_torch(s, m, newest=True)
    after = [v for step in newer.steps if isinstance(v := step.changes.get("torch.version"), str)] if newer else []
    parts = torch_version(after[-1]) if after else None
    built = minor(tag_cuda(parts.tag)) if parts and parts.tag else None
    if newer and built and built >= (minor(first) or minor(cuda) or built):
        found.append(newer)
    if first and numbers(first)[0] == numbers(cuda)[0] and numbers(cuda)[0] >= 12:
        name = "nvidia-cuda-nvrtc" + ("-cu12" if numbers(cuda)[0] == 12 else "")
        put = (Distribution(name=name, version=f"{first}.0", location=site_packages(s)),)
        step = Step(
            text="NVRTC can be newer than torch's pin if the CUDA major version is the same.",
            where="environment",
            **ways(s, Install(packages=(f"{name}=={first}.*",), deps=False)),
            changes={"python.distributions": with_distributions(s, put)},
        )
        found.append(Fix(id="newer-nvrtc", title=f"Install NVRTC {first}", steps=(step,)))
    return tuple(found)
