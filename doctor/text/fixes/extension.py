"""Fixes for a reported fault of a compiled extension: which one it is, and the version that fits torch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compat_matrix.versions import numbers, torch_version

from ...findings import Fix
from ...fixes.extension_install import compatible_wheel
from ...fixes.extensions import SOURCE_ONLY, another, build, compiled, remove, upgrade
from ...fixes.machine import capabilities, python_version
from ...fixes.packages import installed
from ...fixes.selection import unset
from ...snapshot import Distribution, known
from .parts import Evidence
from .written import written

_NAMES = (
    ("flash_attn", "flash-attn"), ("flash-attn", "flash-attn"), ("flashattention", "flash-attn"),
    ("xformers", "xformers"), ("third_party/flash-attention", "xformers"), ("flash-attention/", "flash-attn"),
    ("flash_fwd_launch", "flash-attn"), ("causal_conv1d", "causal-conv1d"), ("selective_scan", "mamba-ssm"),
    ("mamba_ssm", "mamba-ssm"),
    ("bitsandbytes", "bitsandbytes"), ("torch_scatter", "torch-scatter"), ("torch_sparse", "torch-sparse"),
    ("pytorch3d", "pytorch3d"), ("detectron2", "detectron2"), ("mmcv", "mmcv"),
    ("transformer_engine", "transformer-engine"), ("deep_ep", "deep-ep"), ("exllama", "exllamav2"),
    ("apex", "apex"), ("vllm/", "vllm"), ("vllm.", "vllm"),
    ("deepspeed", "deepspeed"), ("flashinfer", "flashinfer-python"), ("gptq", "auto-gptq"), ("awq", "autoawq"),
)  # fmt: skip
"""A word of the message, and the distribution that it belongs to."""
_PINNED = ("xformers", "vllm")
OF_ANY_PACKAGE = (
    "ranked", "no-kernel-image", "invalid-device-function", "any-extension-symbol", "extension-undefined-symbol",
    "torch-undefined-symbol", "torch-library-missing", "extension-cuda-library", "extension-dll-procedure",
    "extension-built-for-told", "cuda-library-missing",
)  # fmt: skip
"""Messages that any package may print: which one it is has to be found before anything else helps."""
_OF_THE_GPU = (
    "xformers-capability", "xformers-operator-capability", "quantization-capability", "gpu-below-floor",
    "sglang-below-floor", "rapids-gpu-too-old", "xformers-backward-capability",
)  # fmt: skip
"""Messages of a program that leaves this generation of GPU out: no other build of it helps."""


def _named(t: Evidence) -> Distribution | None:
    """The extension that the deciding line names, with its version where that is told."""
    for text in (t.symptom.text.lower(), t.text.lower()):
        name = next((name for word, name in _NAMES if word in text), "")
        if name:
            have = installed(t.s, (name,))
            known_version = have and have[0].version[:1].isdecimal()
            return have[0] if known_version else Distribution(name=name, version="", location="")
    return None


def _file(t: Evidence) -> str:
    """The module that the message names, where no table knows it: `my_ops` of `.../my_ops/_C.cpython-310.so`."""
    found = re.search(r"site-packages/([A-Za-z][\w-]{1,60})/", t.symptom.text) or re.search(
        r"([A-Za-z][\w-]{1,60})\.cpython-\d+\S{0,60}\.so", t.symptom.text
    )
    return found[1].strip("_") if found else ""


def _unnamed(t: Evidence) -> tuple[Fix, ...]:
    """If no package could be named, the message's own fix stays, unless any package can print that message."""
    return (written(t.s, "name-the-extension"),) if t.symptom.id in OF_ANY_PACKAGE else ()


def _other_torch(t: Evidence) -> Iterable[Fix]:
    """The release that matches this torch (the matrix lists pins of some), else built here."""
    d = _named(t)
    if d is None:
        name = _file(t)
        if not name:
            return _unnamed(t)
        return (written(t.s, "build-extension-again", compiled(name, source=False), name=name),)
    torch = (known(t.s.torch.version) or "").partition("+")[0]
    rows = [row for row in t.m.extensions if row.package == d.name and row.torch == f"=={torch}"]
    if torch and rows and d.name in _PINNED:
        version = rows[-1].version
        title = f"Install {d.name} {version}, which is built for torch {torch}"
        return (upgrade(t.s, d.name, title, f"{d.name}=={version}"), remove(t.s, d.name))
    if torch and (wheel := compatible_wheel(t.s, t.m, d.name)):
        return (wheel, remove(t.s, d.name))
    if d.version:
        return another(t.s, d)
    if d.name in SOURCE_ONLY:
        made = written(t.s, "build-extension-for-torch", compiled(d.name, source=False), name=d.name)
        return (made, remove(t.s, d.name))
    return (upgrade(t.s, d.name, f"Install the {d.name} version that matches the installed torch"), remove(t.s, d.name))


def _no_arch(t: Evidence) -> Iterable[Fix | None]:
    """If the GPU is too old, run without it. Otherwise a newer one, or built here for this GPU."""
    if t.symptom.id in _OF_THE_GPU:
        return ()
    d = _named(t)
    if t.symptom.id == "flash-attn-ampere":
        return (
            remove(
                t.s,
                "flash-attn",
                "It needs compute capability 8.0 or higher; without flash-attn, programs use torch's own attention.",
            ),
        )
    archs = capabilities(t.s, t.m)
    if d is None:
        return (_compiled(t, name, archs),) if (name := _file(t)) else _unnamed(t)
    made = build(t.s, d, archs, f"Build {d.name} for {', '.join(archs)}") if d.version and archs else None
    if d.name in SOURCE_ONLY:
        return (made or _compiled(t, d.name, archs), remove(t.s, d.name))
    return (upgrade(t.s, d.name), made, remove(t.s, d.name))


def _compiled(t: Evidence, name: str, archs: list[str]) -> Fix:
    return written(t.s, "build-extension", compiled(name, archs), name=name)


def _no_binary(t: Evidence) -> Iterable[Fix | None]:
    """A newer bitsandbytes; for the wheel of another package, which is not named there, the message's own fix."""
    if t.symptom.id == "no-tagged-wheel":
        return ()
    without = unset(t.s, "BNB_CUDA_VERSION") if known(t.s.host.env("BNB_CUDA_VERSION")) else None
    torch, python = torch_version(known(t.s.torch.version) or ""), numbers(python_version(t.s))
    old = (torch is not None and torch.release[:2] < (2, 4)) or (python and python < (3, 10))
    newer = upgrade(
        t.s,
        "bitsandbytes",
        "Install a bitsandbytes version that supports this CUDA version",
        "bitsandbytes" if old else "bitsandbytes>=0.50",
    )
    return (without, newer, remove(t.s, "bitsandbytes"))


FIXES = {
    "extension-built-for-other-torch": _other_torch,
    "extension-lacks-gpu-arch": _no_arch,
    "extension-no-binary-for-cuda": _no_binary,
}
