"""Which torch versions a wish allows, and which GPUs a build has machine code and a cuDNN for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .code import code_for_gpu
from .libraries import cudnn_for_gpu
from .torchs import release_row
from .versions import numbers, tag_cuda
from .wish import allowed

if TYPE_CHECKING:
    from .rows_torch import TorchBuild
    from .store import Store

STALE_MINORS = 4
"""A native build this many torch minors behind the newest usable one (about a year) yields to minor-version
compatibility, which NVIDIA supports for code that ships SASS."""


def chooser(torch: str | None) -> Callable[[str], bool]:
    """A test for versions from '2.6.0', '2.6.0+cu124', '2.6' or a specifier; unreadable ones allow nothing."""
    specifier = torch or ""
    if specifier[:1].isdigit():
        specifier = specifier.partition("+")[0]
    return lambda version: allowed(specifier, version)


def served_by(m: Store, build: TorchBuild, gpus: Sequence[str]) -> dict[str, str] | str:
    """Capability -> target that runs on it, or what the build lacks."""
    answers: dict[tuple[str, str, tuple[str, ...], str], tuple[str, str]] = m.memo("served", dict)
    release = release_row(m, build.torch)
    library = release.cudnn_per_build.get(build.tag, "") if release else ""
    served = {}
    for capability in gpus:
        key = (capability, build.tag, build.sass, library)
        answer = answers.get(key)
        if answer is None:
            answer = answers[key] = _serves(m, build, capability, library)
        served[capability], lacks = answer
        if lacks:
            return lacks
    return served


def _serves(m: Store, build: TorchBuild, capability: str, library: str) -> tuple[str, str]:
    """The target that runs on it and '', or '' and what the build lacks."""
    cuda = tag_cuda(build.tag)
    code = code_for_gpu(m, capability, build.sass, (), build_cuda=cuda)
    if code.kind != "sass":
        return "", f"holds machine code for {capability}"
    if library and cudnn_for_gpu(m, library, capability, numbers(cuda)[0] if cuda else None).grade == "dropped":
        return "", f"brings a cuDNN for {capability}"
    return code.by, ""
