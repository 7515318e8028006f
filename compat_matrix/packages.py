"""Packages other than torch, from whichever table has them: their releases, and what each works with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from .drivers import driver_for_cuda
from .libraries import toolkit_versions
from .rows_library import Framework
from .rows_more import Extension, ExtensionWheel
from .rows_torch import Companion
from .torchs import torch_builds, usable
from .versions import numbers, tag_cuda
from .wish import allowed

if TYPE_CHECKING:
    from .store import Store

PackageRow = Companion | Extension | ExtensionWheel | Framework
Kind = Literal["torch", "cuda", "python", "driver", "gpu"]
RUNS = ("native", "minor-version")
_SAME = {
    "jaxlib": "jax", "tensorflow-gpu": "tensorflow", "onnxruntime": "onnxruntime-gpu", "flash-attention": "flash-attn",
    "paddlepaddle-gpu": "paddlepaddle", "paddle": "paddlepaddle", "flashinfer": "flashinfer-python",
}  # fmt: skip
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
    seen: set[tuple[str, tuple[int, ...], int]] = set()
    tables: tuple[tuple[PackageRow, ...], ...] = (m.companion_rows, m.frameworks, m.extension_wheels, m.extensions)
    for table in tables:
        found = set()
        for row in table:
            name, key = plain(row.package), (numbers(row.version), _post(row.version))
            if getattr(row, "yanked", False) or (name, *key) in seen:
                continue
            found.add((name, *key))
            index.setdefault(name, []).append(row)
        seen |= found
    for rows in index.values():
        rows.sort(key=lambda row: ((*numbers(row.version), 0, 0, 0)[:4], _post(row.version)), reverse=True)
    return index


def _post(version: str) -> int:
    found = re.search(r"post(\d+)", version)
    return int(found[1]) if found else 0


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
    near = [row for row in rows if wanted and numbers(row.version)[: len(wanted)] == wanted and not _post(version)]
    of_minor = [
        row for row in rows if isinstance(row, Framework) and (have := numbers(row.version)) == wanted[: len(have)]
    ]
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
    cudas = cuda_of(m, row, wheels)
    if cudas is None:
        return None
    if kind == "cuda":
        return any(numbers(value)[: len(one)] == one for one in map(numbers, cudas))
    windows = wheels == "windows"
    return any(
        driver_for_cuda(m, value, one if "." in one else _oldest(m, one), "windows" if windows else "linux").grade
        in RUNS
        for one in cudas
    )


def _oldest(m: Store, major: str) -> str:
    """The oldest toolkit of a CUDA major: a build for 'CUDA 12' runs wherever that does."""
    return next(f"{one}.{small}" for one, small in toolkit_versions(m) if str(one) == major)


def cuda_of(m: Store, row: PackageRow, wheels: str = "linux_x86_64") -> tuple[str, ...] | None:
    """The CUDA versions or majors that a release is built for; None if the tables do not say."""
    if isinstance(row, (Framework, ExtensionWheel)):
        return (row.cuda,)
    if isinstance(row, Extension):
        indexes = [i for i in m.extension_indexes if (i.package, i.version) == (row.package, row.version)]
        if row.package in ("vllm", "sglang"):  # by the floor of its driver, as when one is resolved
            own = "12" if row.min_driver.startswith("525") else "13"
            return (own, *(cuda for i in indexes if (cuda := tag_cuda(i.tag))))
        listed = re.findall(r"cu(\d{3})\b", row.cuda)
        if listed:
            return tuple(f"{tag[:2]}.{tag[2]}" for tag in listed)
        span = re.match(r"(\d+)\.(\d+) to (\d+)\.(\d+)", row.cuda)
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
    found = re.match(r"\d+\.\d", text)
    return found[0] if found else ""


def _gpu(m: Store, row: PackageRow, capability: str, wheels: str) -> bool | None:
    floor = floor_of(row)
    if floor:
        return numbers(capability) >= numbers(floor)
    if isinstance(row, Companion):
        from .code import code_for_gpu

        return any(
            code_for_gpu(m, capability, b.sass, (), build_cuda=tag_cuda(b.tag)).kind == "sass"
            for torch in own_torch(m, row) or ()
            for b in torch_builds(m, torch, wheels)
            if usable(b) and tag_cuda(b.tag)
        )
    return None
