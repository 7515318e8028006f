"""Every release of TensorFlow, JAX's CUDA plugins, CuPy and ONNX Runtime from the package index: the CUDA and cuDNN
that the extra with CUDA wheels names, and the Pythons and platforms of the wheels.

Sources: packaging.python.org, core metadata (Requires-Dist, Provides-Extra) and wheel file names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from email.parser import HeaderParser
from typing import Any, NamedTuple
from urllib.error import HTTPError

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from ..versions import numbers
from .package_index import Release, index, metadata, pythons_of, releases
from .rows import Found


class Framework(NamedTuple):
    """How a project publishes. extras: those that bring CUDA as wheels, as a row names them; by_minor: one row stands
    for all patches of a minor, and names them; first: the oldest release whose metadata says what it was built with,
    and that can be installed; wheels_alone: platforms whose wheels use a GPU, where others are published that do not;
    extra_of: the package whose extra brings CUDA beside a release of the same number that has no such extra itself."""

    extras: str
    by_minor: bool = False
    first: str = "0"
    extra_of: str = ""
    wheels_alone: tuple[str, ...] = ()


FRAMEWORKS = {
    "tensorflow": Framework("and-cuda", by_minor=True, first="2.14", wheels_alone=("linux_x86_64",)),
    "onnxruntime-gpu": Framework("cuda,cudnn", by_minor=True, first="1.21"),
    "jax-cuda12-plugin": Framework("with-cuda", first="0.4.23", extra_of="jax[cuda12]"),  # 0.4.22: without its pjrt
    "jax-cuda13-plugin": Framework("with-cuda"),
    "cupy-cuda11x": Framework("ctk"),
    "cupy-cuda12x": Framework("ctk"),
    "cupy-cuda13x": Framework("ctk"),
}
_PLATFORMS = {"linux_x86_64": "linux.*x86_64", "windows": "win_amd64", "linux_aarch64": "linux.*aarch64"}


def read(package: str, rows: Iterable[dict[str, Any]], address: str = "") -> Iterator[Found]:
    """The rows of a framework's releases. rows: those of `frameworks` that are there. Raises OSError, ValueError."""
    how, address = FRAMEWORKS[package], address or index()
    newest: dict[str, Release] = {}
    patches: dict[str, list[Release]] = {}
    for one in releases(package, address):  # oldest first: of a minor the last patch remains
        version = ".".join(one.version.split(".")[:2]) if how.by_minor else one.version
        patches.setdefault(version, []).append(one)
        if Version(one.version) >= Version(how.first):
            newest[version] = one
    if how.by_minor:
        yield from _of_older(package, rows, patches, set(newest))
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(metadata, newest.values()))
    asking = _asking(how.extra_of, address)
    listed = {row["version"]: row for row in rows if row["package"] == package}
    on_index: dict[str, bool] = {}
    for (version, release), text in zip(newest.items(), texts, strict=True):
        extras, needs = _with_cuda(how.extras, text)
        beside = "" if extras or release.version not in asking else f" and {how.extra_of.partition('[')[0]}"
        if beside:
            needs = _with_cuda(how.extra_of.rstrip("]").partition("[")[2], metadata(asking[release.version]))[1]
        source = f"PyPI: metadata and names of the wheels of each {package}{beside} (read {date.today().isoformat()})"
        in_name = re.search(r"cuda(\d+)x$", package)
        cuda = in_name[1] if in_name else _lowest(needs, r"nvidia-cuda-runtime(-cu\d+)?")
        if not cuda:
            continue  # its metadata does not say
        fields: dict[str, Any] = {"note": "any CUDA of this major"} if in_name else {}
        if how.by_minor:
            fields["releases"] = [one.version for one in patches[version]]
        if cudnn := "" if in_name else _lowest(needs, r"nvidia-cudnn-cu\d+"):
            fields["cudnn"] = cudnn
        for need in needs:
            if need.name not in on_index:
                on_index[need.name] = is_published(need.name, address)
        if extras and all(on_index[need.name] for need in needs):
            fields["extra"] = ",".join(map(canonicalize_name, extras))
        fields |= {"pythons": pythons_of(release), "gpu_platforms": list(how.wheels_alone) or _platforms(release)}
        row = listed.get(version)
        same = row is not None and numbers(row["cuda"])[:1] == numbers(cuda)[:1]
        key = (package, version, str(row["cuda"]) if row and same else cuda)
        yield Found("frameworks", key, fields, "" if row and row.get("sass") else source)


def _of_older(
    package: str, rows: Iterable[dict[str, Any]], patches: dict[str, list[Release]], newer: set[str]
) -> Iterator[Found]:
    """The releases that a listed minor stands for and the Pythons of all their wheels, if their metadata says nothing
    of CUDA: the row keeps the rest. A patch with its own row is not one of them."""
    rows = list(rows)
    own = {row["version"] for row in rows if row["package"] == package}
    for row in rows:
        if row["package"] == package and row["version"] in patches and row["version"] not in newer:
            key = (package, row["version"], str(row["cuda"]))
            mine = [one for one in patches[row["version"]] if one.version not in own]
            pythons = sorted({python for one in mine for python in pythons_of(one)}, key=numbers)
            yield Found("frameworks", key, {"releases": [one.version for one in mine], "pythons": pythons}, "")


def is_published(package: str, address: str) -> bool:
    """Whether the index has a release: some extras name packages that were never published."""
    try:
        return bool(releases(package, address))
    except HTTPError:
        return False


def _asking(package: str, address: str) -> dict[str, Release]:
    """Releases of the package that `extra_of` names."""
    return {one.version: one for one in releases(package.partition("[")[0], address)} if package else {}


def _with_cuda(names: str, text: str) -> tuple[list[str], list[Requirement]]:
    """The extras of a release that bring CUDA as wheels, and what they ask for on Linux."""
    head = HeaderParser().parsestr(text)
    wanted = names.split(",")
    extras = [one for one in head.get_all("Provides-Extra", []) if canonicalize_name(one) in wanted]
    linux = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
    needs = [
        need for line in head.get_all("Requires-Dist", [])
        if (need := Requirement(line)).marker and any(need.marker.evaluate({**linux, "extra": one}) for one in extras)
        and not need.marker.evaluate({**linux, "extra": ""})
    ]  # fmt: skip
    return extras, needs


def _lowest(needs: list[Requirement], name: str) -> str:
    """'12.5' of `nvidia-cuda-runtime-cu12<13,>=12.5.82`; '13' of `~=13.0`, which takes any of that major."""
    for need in needs:
        lower = [one for one in need.specifier if one.operator in ("==", ">=", "~=")]
        if re.fullmatch(name, need.name) and lower:
            parts = lower[0].version.split(".")
            return parts[0] if lower[0].operator == "~=" and parts[1:] == ["0"] else ".".join(parts[:2])
    return ""


def _platforms(release: Release) -> list[str]:
    tags = {tag.platform for name in release.wheels for tag in parse_wheel_filename(name)[3]}
    return [name for name, pattern in _PLATFORMS.items() if any(re.search(pattern, tag) for tag in tags)]
