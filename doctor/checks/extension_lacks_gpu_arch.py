"""A compiled extension has no code for this GPU.

What is wrong: the extension's libraries contain code only for other GPU generations, and no PTX that the driver could
compile for this one. torch itself may be fine.

Symptoms: `CUDA error: no kernel image is available for execution on the device` only from the extension's functions,
`FlashAttention only supports Ampere GPUs or newer`, `Error named symbol not found at ...`.

Why it happens: the extension was built before this GPU existed, was built on a machine with a different GPU
(TORCH_CUDA_ARCH_LIST), or its authors dropped or never supported this generation (flash-attn 2 starts at Ampere, 8.0).

How to fix it: for a newer GPU, install a newer version. For an older GPU, remove the extension (programs then use
torch's own attention). Or build it on this machine for this GPU.

The supported generations are read from each library's binary. Only a package's general libraries count: kernels for a
single generation (FlashAttention 3 for Hopper) need not run everywhere. bitsandbytes ships one library per CUDA
version; only the one that torch's CUDA version selects counts.

Source: CUDA C++ Programming Guide, binary compatibility; .nv_fatbin of the libraries.
"""

from __future__ import annotations

from compat_matrix.versions import arch

from ..findings import Check, Finding, Findings, Fix, Matrix, Policy, Skip
from ..fixes.extensions import SOURCE_ONLY, build, remove, upgrade
from ..fixes.machine import SeenGpu
from ..snapshot import Distribution, Missing, NeedsFact, Snapshot, need
from ._errors import texts
from ._extensions import Reach, main_libraries, reaches
from ._torch import NO_CODE, OTHER_BUILD, gpus

CHECK = Check(
    __name__,
    title="An extension has no code for this GPU",
    sound="The extensions have code for the GPU",
    severity="error",
    layer="extension",
    tags=("extension", "gpu"),
    downstream_of=(
        *OTHER_BUILD,
        *NO_CODE,
        "no-nvidia-gpu",
        "torch-companion-mismatch",
        "extension-no-binary-for-cuda",
        "extension-built-for-other-torch",
        "jetson-generic-wheel",
    ),
    source="docs.nvidia.com/cuda/cuda-c-programming-guide: binary compatibility",
)

_NOT_HERE = ("nvidia-nccl", "nvidia-cudnn", "jax-cuda12-plugin", "jax-cuda13-plugin", "torchao", "torchcodec",
             "flash-attn-3", "deep-ep")  # fmt: skip
"""Judged elsewhere, compiled at run time, or built for some GPUs on purpose: other code replaces them."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each package with kernels none of which runs on a GPU that programs get."""
    if "FlashAttention only supports Ampere" in (errors := texts(s)):
        fixes = (remove(s, "flash-attn"),)
        title = "flash-attn 2 does not support this GPU: it needs compute capability 8.0 or higher"
        yield CHECK.fail(
            title, "flash-attn reports this itself.", facts={"said": errors[:300]}, subject="flash-attn", fixes=fixes
        )
        return
    libraries = need("python.extensions", s.python.extensions)
    packages = [n for n in dict.fromkeys(lib.package for lib in libraries) if n not in _NOT_HERE]
    judged = {name: main for name in packages if (main := main_libraries(s, name))}
    if not judged:
        raise Skip("no extension with GPU code is installed")
    cards = [gpu for gpu in gpus(s, m) if gpu.capability]
    if not cards:
        raise NeedsFact("gpus.compute_capability", Missing("absent", "no GPU's compute capability is known"))
    unsure = ""
    for name, main in judged.items():
        for capability in dict.fromkeys(gpu.capability for gpu in cards):
            reach = reaches(s, m, main, capability)
            gpu = next(g for g in cards if g.capability == capability)
            if reach.verdict == "no":
                yield _finding(s, name, gpu, reach, main[0].path)
            elif reach.verdict == "unknown":
                unsure = f"{name} on {capability}: {reach.reason}"
    if unsure:
        raise NeedsFact("python.extensions", Missing("conflict", unsure))


def _finding(s: Snapshot, name: str, gpu: SeenGpu, reach: Reach, path: str) -> Finding:
    found = s.python.distribution(name)
    d = found if isinstance(found, Distribution) else None
    title = f"{name}{' ' + d.version if d else ''} has no code for {gpu.name} ({gpu.capability})"
    detail = f"Read from {path}: {reach.reason}."
    facts = {"gpu": gpu.name, "compute_capability": gpu.capability, "package": name, "library": path,
             "sass": list(reach.held)}  # fmt: skip
    fixes = _fixes(s, d, name, gpu, reach)
    return CHECK.fail(title, detail, facts=facts, subject=f"{name} {gpu.capability}", fixes=fixes)


def _fixes(s: Snapshot, d: Distribution | None, name: str, gpu: SeenGpu, reach: Reach) -> tuple[Fix, ...]:
    device, held = arch(gpu.capability), [a.capability for text in reach.held if (a := arch(text))]
    if d is None:
        return (remove(s, name),)
    if device and held and device.capability < min(held):  # too old for it: a newer version does not help
        return remove(s, name), build(s, d, (gpu.capability,))
    if name in SOURCE_ONLY or d.wheel:
        return build(s, d, (gpu.capability,), f"Build {name} for {gpu.capability}"), remove(s, name)
    return upgrade(s, name), build(s, d, (gpu.capability,)), remove(s, name)
