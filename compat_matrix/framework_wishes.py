"""TensorFlow, JAX, ONNX Runtime and CuPy along with a torch build: both bring cuDNN, and one environment has one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .frameworks import framework
from .torchs import release_row
from .versions import numbers, tag_cuda
from .wish import Chosen, Wish, allowed

if TYPE_CHECKING:
    from .rows_library import Framework
    from .rows_torch import TorchBuild
    from .store import Store

BARE = ("tensorflow", "jax")
"""Those whose plain install needs no CUDA library, and so shares none with torch."""
FRAMEWORKS = {"tensorflow": "and-cuda", "jax": "cuda", "onnxruntime-gpu": "cuda,cudnn", "cupy": ""}
"""Package -> its extra that brings CUDA as wheels."""


def framework_for(
    m: Store, wish: Wish, build: TorchBuild, python: str, platform: str, others: tuple[Chosen, ...]
) -> Chosen | str:
    """A framework along with torch in one environment: both bring cuDNN, and one environment can hold only one."""
    release = release_row(m, build.torch)
    cudnn = (release.cudnn_per_build.get(build.tag, "") or release.cudnn) if release else ""
    major = (tag_cuda(build.tag) or "").partition(".")[0]
    reasons = []
    for rank, row in enumerate(framework_rows(m, wish)):
        if python and row.pythons and python not in row.pythons:
            reasons.append(f"{row.package} {row.version} is for Python {row.pythons[0]} to {row.pythons[-1]}")
        elif platform not in row.gpu_platforms:
            reasons.append(f"{row.package} {row.version} does not use a GPU on {platform}")
        elif row.cuda.partition(".")[0] != major:
            reasons.append(
                f"{row.package} {row.version} is built for CUDA {row.cuda}, but torch {build.torch} {build.tag} is not"
            )
        elif _exact_pins(row) and row.extra and numbers(row.cuda)[:2] != numbers(tag_cuda(build.tag))[:2]:
            reasons.append(
                f"{row.package} {row.version} pins the CUDA {row.cuda} wheels, but torch {build.torch} is {build.tag}"
            )
        elif row.cudnn and cudnn and not _same_cudnn(row, cudnn):
            reasons.append(
                f"{row.package} {row.version} needs cuDNN {row.cudnn}, but torch {build.torch} brings {cudnn}"
            )
        else:
            extra = "cuda" + major if wish.package == "jax" else FRAMEWORKS[wish.package] if row.extra else ""
            name = row.package if wish.package == "cupy" else wish.package
            exact = f"=={row.version}" + ("" if row.version.count(".") > 1 else ".*")
            spec = f"{name}[{extra}]{exact}" if extra else f"{name}{exact}"
            return Chosen(package=wish.package, version=row.version, requirement=spec, rank=rank, rows=(row,))
    return reasons[0] if reasons else f"no {wish} is listed in this matrix"


def _same_cudnn(row: Framework, cudnn: str) -> bool:
    """An exact pin (tensorflow before 2.20) needs its own; the rest accept any newer one with the same major."""
    have, want = numbers(cudnn), numbers(row.cudnn)
    if _exact_pins(row):
        return have[:2] == want[:2]
    return have[:1] == want[:1] and have[: len(want)] >= want


def _exact_pins(row: Framework) -> bool:
    """Whether its extra pins NVIDIA's wheels with ==, as torch does: together, both need the same ones."""
    return row.package == "tensorflow" and numbers(row.version) < (2, 20)


def framework_rows(m: Store, wish: Wish) -> tuple[Framework, ...]:
    """Its releases that the wish allows, newest first."""
    known: dict[Wish, tuple[Framework, ...]] = m.memo("frameworks wished", dict)
    if wish not in known:
        if re.fullmatch(r"\d+(\.\d+)+", wish.specifier):
            rows = list(framework(m, wish.package, wish.specifier))
        else:
            names = {
                row.package
                for row in m.frameworks
                if row.package == wish.package or row.package.startswith(f"{wish.package}-cuda")
            }
            rows = [row for row in m.frameworks if row.package in names and allowed(wish.specifier, row.version)]
        known[wish] = tuple(sorted(rows, key=lambda row: numbers(row.version), reverse=True))
    return known[wish]
