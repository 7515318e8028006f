"""TensorFlow, JAX, ONNX Runtime and CuPy along with a torch build: both bring cuDNN, and one environment has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pythons import shared_pythons, supports_python
from .torchs import release_row
from .versions import by_release, numbers, tag_cuda
from .wish import Chosen, Wish, allowed, is_prefix

if TYPE_CHECKING:
    from .rows_library import Framework
    from .rows_torch import TorchBuild
    from .store import Store

BARE = ("tensorflow", "jax", "cupy")
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
        if python and not supports_python(row, python):
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
                f"{row.package} {row.version} needs cuDNN {row.cudnn}, but torch {build.torch} comes with {cudnn}"
            )
        elif not python and not shared_pythons(m, build.torch, platform, (row,)):
            reasons.append(f"{row.package} {row.version} has no wheel for a Python that torch {build.torch} supports")
        else:
            version, spec = requirement_of(row, wish)
            return Chosen(package=wish.package, version=version, requirement=spec, rank=rank, rows=(row,))
    return reasons[0] if reasons else f"no {wish} is listed in this matrix"


def requirement_of(row: Framework, wish: Wish) -> tuple[str, str]:
    """(version, requirement with its extra) of a row that the wish allows: every patch of a minor, if the wish leaves
    the patch open, else the newest that it allows."""
    package = wish.package
    extra = f"cuda{row.cuda.partition('.')[0]}" if package == "jax" else FRAMEWORKS[package] if row.extra else ""
    name = (row.package if package == "cupy" else package) + (f"[{extra}]" if extra else "")
    if is_prefix(row.version) and wish.specifier in ("", row.version):
        return row.version, f"{name}=={row.version}.*"
    version = allowed_releases(row, wish.specifier)[-1]
    return version, f"{name}=={version}"


def allowed_releases(row: Framework, specifier: str) -> tuple[str, ...]:
    """The releases that a row stands for and the specifier allows, oldest first."""
    return tuple(one for one in row.releases or (row.version,) if allowed(specifier, one))


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
    """Its rows with a release that the wish allows, newest first."""
    known: dict[Wish, tuple[Framework, ...]] = m.memo("frameworks wished", dict)
    if wish not in known:
        rows = [
            row
            for row in m.frameworks
            if (row.package == wish.distribution if wish.distribution else _is_of(row, wish.package))
            and allowed_releases(row, wish.specifier)
        ]
        known[wish] = tuple(sorted(rows, key=lambda row: by_release(row.version), reverse=True))
    return known[wish]


def _is_of(row: Framework, package: str) -> bool:
    return row.package == package or row.package.startswith(f"{package}-cuda")
