"""Packages other than torch, from whichever table has them: their releases, and what each works with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from .drivers import driver_for_cuda, toolkit_versions
from .framework_wishes import allowed_releases
from .rows_library import Framework
from .rows_more import Extension, ExtensionWheel
from .rows_torch import Companion
from .torchs import torch_builds, usable
from .versions import Order, by_release, numbers, tag_cuda
from .wish import allowed, cuda_by_floor

if TYPE_CHECKING:
    from .rows_torch import TorchRelease
    from .store import Store

PackageRow = Companion | Extension | ExtensionWheel | Framework
Kind = Literal["torch", "cuda", "python", "driver", "gpu", "cudnn", "nccl"]
RUNS = ("native", "minor-version")
_SAME = {
    "jaxlib": "jax", "tensorflow-gpu": "tensorflow", "onnxruntime": "onnxruntime-gpu", "flash-attention": "flash-attn",
    "paddlepaddle-gpu": "paddlepaddle", "paddle": "paddlepaddle", "flashinfer": "flashinfer-python",
}  # fmt: skip
_PINNED = 3
"""A release that goes with more torch releases than these pins none."""
_OF_SEVERAL = ("jax", "cupy")
"""Projects with one package per CUDA major: jax-cuda12-plugin, jax[cuda13], cupy-cuda12x."""


def plain(package: str) -> str:
    """The name that people write: 'jax-cuda12-plugin', 'jax[cuda13]' -> 'jax'; 'apex (NVIDIA)' -> 'apex'."""
    name = re.split(r"[ \[(]", package.casefold().replace("_", "-"))[0]
    name = _SAME.get(name, name)
    return next((one for one in _OF_SEVERAL if re.match(rf"{one}-cuda", name)), name)


def _releases(m: Store) -> dict[str, list[PackageRow]]:
    """Rows by package. For a release in two tables, the first one is used."""
    index: dict[str, list[PackageRow]] = {}
    seen: set[tuple[str, Order]] = set()
    tables: tuple[tuple[PackageRow, ...], ...] = (m.companion_rows, m.frameworks, m.extension_wheels, m.extensions)
    for table in tables:
        found = set()
        for row in table:
            key = (plain(row.package), by_release(row.version))
            if getattr(row, "yanked", False) or key in seen:
                continue
            found.add(key)
            index.setdefault(key[0], []).append(row)
        seen |= found
    for rows in index.values():
        rows.sort(key=lambda row: by_release(row.version), reverse=True)
    return index


def package_names(m: Store) -> tuple[str, ...]:
    """Every package with a release in the matrix, except torch."""
    return tuple(m.memo("package rows", lambda: _releases(m)))


def package_rows(m: Store, package: str, version: str = "") -> tuple[PackageRow, ...]:
    """The rows of a package, newest first; those of a release ('2.15' also of 2.15.1, and of a row '2.15')."""
    index: dict[str, list[PackageRow]] = m.memo("package rows", lambda: _releases(m))
    rows = index.get(plain(package), [])
    rows = [row for row in rows if row.package == package] or rows  # one of several: cupy-cuda12x
    if not version:
        return tuple(rows)
    exact = [row for row in rows if row.version == version]
    wanted = numbers(version)
    near = [row for row in rows if wanted and numbers(row.version)[: len(wanted)] == wanted and "post" not in version]
    of_minor = [
        row for row in rows if isinstance(row, Framework) and (have := numbers(row.version)) == wanted[: len(have)]
        if allowed_releases(row, version)
    ]  # fmt: skip
    return tuple(exact or near or of_minor)


def torch_of(m: Store, row: PackageRow) -> tuple[str, ...] | None:
    """The torch releases that a row works with, newest first; None if the tables do not say."""
    known: dict[tuple[str, str, str], tuple[str, ...] | None] = m.memo("torch of packages", dict)
    key = (row.package, row.version, getattr(row, "torch", "") if isinstance(row, Companion) else row.source)
    if isinstance(row, ExtensionWheel):
        key = (row.package, f"{row.version} {row.cuda}", " ".join(row.torch))
    if key not in known:
        known[key] = _torch_of(m, row)
    return known[key]


def _torch_of(m: Store, row: PackageRow) -> tuple[str, ...] | None:
    releases = sorted({build.torch for build in m.builds}, key=numbers, reverse=True)
    if isinstance(row, ExtensionWheel):
        return tuple(one for one in releases if ".".join(one.split(".")[:2]) in row.torch)
    if isinstance(row, Companion):
        from .companions import companions

        return tuple(
            torch for torch in releases for found in companions(m, torch, row.package) if row.version in found.versions
        )
    text = row.torch if isinstance(row, Extension) else ""
    if not re.match(r"[<>=~!]=?", text):
        return None
    return tuple(one for one in releases if allowed(text, one))


def goes_with(m: Store, row: PackageRow, kind: Kind, value: str, wheels: str = "linux_x86_64") -> bool | None:
    """Whether a release works with this torch, CUDA, Python, driver or GPU (a capability); None: the tables do not say.

    wheels: platform of wheels; a driver is for that system.
    """
    if kind == "torch":
        found = torch_of(m, row)
        return None if found is None else value in found
    if kind == "python":
        return _python(m, row, value, wheels)
    if kind == "gpu":
        return _gpu(m, row, value, wheels)
    if kind in ("cudnn", "nccl"):
        return _library(m, row, kind, value)
    cudas = cuda_of(m, row, wheels)
    if cudas is None:
        return None
    if kind == "cuda":
        return any(_same_line(value, one) for one in cudas)
    windows = wheels == "windows"
    return any(
        driver_for_cuda(
            m, value, one if "." in one else oldest_toolkit(m, one), "windows" if windows else "linux"
        ).grade
        in RUNS
        for one in cudas
    )


def _library(m: Store, row: PackageRow, kind: Kind, value: str) -> bool | None:
    """By the cuDNN that a framework was built with ('9' goes with each 9.x), else by the torch that a release pins."""
    if isinstance(row, Framework):
        return _same_line(row.cudnn, value) if row.cudnn and kind == "cudnn" else None
    found = torch_of(m, row)
    if found is None or (isinstance(row, Extension) and len(found) > _PINNED):
        return None
    default = [bundled(one, kind).get(one.pypi_linux_x86_64, "") for one in m.releases if one.torch in found]
    libraries = [one for one in default if one]
    return any(_same_line(one, value) for one in libraries) if libraries else None


def bundled(release: TorchRelease, kind: str) -> dict[str, str]:
    """The cuDNN or NCCL of a torch release by CUDA tag, as far as it is listed."""
    found = dict(release.cudnn_per_build) if kind == "cudnn" else {}
    default = getattr(release, kind)
    return {release.pypi_linux_x86_64: default, **found} if default else found


def _same_line(one: str, other: str) -> bool:
    """Whether two versions agree as far as both say."""
    return all(a == b for a, b in zip(numbers(one), numbers(other), strict=False))


def oldest_toolkit(m: Store, major: str) -> str:
    """The oldest toolkit of a CUDA major: a build for 'CUDA 12' runs wherever that does."""
    return next(f"{one}.{small}" for one, small in toolkit_versions(m) if str(one) == major)


def cuda_of(m: Store, row: PackageRow, wheels: str = "linux_x86_64") -> tuple[str, ...] | None:
    """The CUDA versions or majors that a release is built for; None if the tables do not say."""
    if isinstance(row, (Framework, ExtensionWheel)):
        return (row.cuda,)
    if isinstance(row, Extension):
        indexes = [i for i in m.extension_indexes if (i.package, i.version) == (row.package, row.version)]
        if row.package in ("vllm", "sglang"):  # by the floor of its driver, as when one is resolved
            own = cuda_by_floor(row.min_driver)
            return (own, *(cuda for i in indexes if (cuda := tag_cuda(i.tag)))) if own else None
        listed = re.findall(r"cu(\d{3})\b", row.cuda)
        if listed:
            return tuple(f"{tag[:2]}.{tag[2]}" for tag in listed)
        span = re.search(r"(\d+)\.(\d+) to (\d+)\.(\d+)", row.cuda)
        if span:
            low, high = (int(span[1]), int(span[2])), (int(span[3]), int(span[4]))
            return tuple(f"{major}.{small}" for major, small in toolkit_versions(m) if low <= (major, small) <= high)
        majors = re.match(r"\d\d(?: or \d\d)+", row.cuda)
        if majors:
            return tuple(majors[0].split(" or "))
        plain_cuda = re.match(r"(\d+)(?:\.(\d+))?(?:\.x)?(?=\.x|,|;| |$)", row.cuda)
        if plain_cuda:
            return (plain_cuda[1] + (f".{plain_cuda[2]}" if plain_cuda[2] else ""),)
        if "torch" not in row.cuda:
            return None
    found = own_torch(m, row)
    if found is None:
        return None
    tags = {b.tag for torch in found for b in torch_builds(m, torch, wheels) if usable(b) and tag_cuda(b.tag)}
    return tuple(sorted((cuda for tag in tags if (cuda := tag_cuda(tag))), key=numbers, reverse=True))


def own_torch(m: Store, row: PackageRow) -> tuple[str, ...] | None:
    """The torch releases that a release was built with, which determine its CUDA and Pythons: one that requires torch
    2.14 or newer is built with 2.14, one that names no torch with the torch of its own number."""
    found = torch_of(m, row)
    if not isinstance(row, Companion) or not found:
        return found
    wanted = numbers(row.version if row.torch == "*" else row.torch)[:2]
    return tuple(one for one in found if numbers(one)[:2] == wanted) or found


def _python(m: Store, row: PackageRow, value: str, wheels: str) -> bool | None:
    if isinstance(row, (Framework, ExtensionWheel)):
        return value in row.pythons if row.pythons else None
    if isinstance(row, Extension):
        return allowed(row.requires_python, value) if row.requires_python else None
    return any(value in pythons_of(m, torch, wheels) for torch in own_torch(m, row) or ())


def pythons_of(m: Store, torch: str, wheels: str) -> tuple[str, ...]:
    """The Pythons that a torch release has wheels for."""
    row = next((one for one in m.releases if one.torch == torch), None)
    return tuple(getattr(row, f"pythons_{wheels}")) if row else ()


def floor_of(row: PackageRow) -> str:
    """The lowest compute capability that a release requires; '' for none."""
    text = (
        row.min_sm
        if isinstance(row, (Extension, Framework))
        else row.min_capability
        if isinstance(row, ExtensionWheel)
        else ""
    )
    found = re.search(r"^\d+\.\d|(?<=wheel job: )\d+\.\d|(?<=later \()\d+\.\d", text)
    return found[0] if found else ""


def _gpu(m: Store, row: PackageRow, capability: str, wheels: str) -> bool | None:
    floor = floor_of(row)
    if floor and numbers(capability) < numbers(floor):
        return False
    from .code import code_for_gpu

    if isinstance(row, (Framework, Extension)) and row.sass:  # its PTX is not listed: newer GPUs are unknown
        runs = code_for_gpu(m, capability, row.sass).kind == "sass"
        return runs or (None if numbers(capability) > numbers(row.sass[0]) else False)
    if floor:
        return True
    if isinstance(row, Companion):
        return any(
            code_for_gpu(m, capability, b.sass, (), build_cuda=tag_cuda(b.tag)).kind == "sass"
            for torch in own_torch(m, row) or ()
            for b in torch_builds(m, torch, wheels)
            if usable(b) and tag_cuda(b.tag)
        )
    return None
