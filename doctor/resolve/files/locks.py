"""Lock files: what they pin for this platform."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace
from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement

from compat_matrix.resolver import Question
from compat_matrix.wish import Wish
from compat_matrix.wishes import KNOWN

from ..machine import Unclear
from .conda import CondaSpec, conda_tag
from .entries import pep440
from .lines import Elsewhere, Found, Pinned, RequirementFile, Span, split
from .pyproject import only_python
from .reading import Holds, applies, index_tag, line_of, not_here, package_of, requirement_of
from .sources import tables_of


def of_uv(content: Mapping[str, Any], text: str, path: str, q: Question) -> RequirementFile:
    """The packages of a uv.lock. Raises Unclear."""
    packages = content.get("package")
    if not isinstance(packages, list) or not isinstance(content.get("version"), int):
        raise Unclear(f"{path} is TOML, but not a uv.lock (no version and packages)")
    numbers = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[package]]"]
    found: list[Found] = []
    python = str(content.get("requires-python") or "")
    for i, package in enumerate(packages):
        if not isinstance(package, dict) or not isinstance(package.get("name"), str):
            raise Unclear(f"{path} is not a uv.lock: a package without a name")
        version, source = package.get("version"), package.get("source") or {}
        markers = package.get("resolution-markers") or []
        if not isinstance(version, str) or not isinstance(source, dict) or not isinstance(markers, list):
            continue
        number = numbers[i] + 1 if i < len(numbers) else 0
        allows = partial(_any_holds, markers, path)
        if markers and not applies(allows, q):
            found += _skipped(number, package["name"], version, allows, q, python)
            continue
        origin = next((key for key in source if key != "registry"), "")
        one = locked(number, package["name"], version, index_tag(str(source.get("registry") or "")), origin)
        found += [one] if one else []
    return RequirementFile(kind="lock", **split(found), regenerate="uv lock")


def _any_holds(markers: Sequence[object], path: str, about: dict[str, str]) -> bool:
    return any(holds(str(marker), about, path) for marker in markers)


def _skipped(number: int, name: str, version: str, allows: Holds, q: Question, python: str = "") -> Iterator[Found]:
    return not_here(Span(number, f"{name}=={version}"), name, allows, q, allowed=python)


def locked(number: int, name: str, version: str, tag: str, origin: str = "") -> Found | None:
    """A locked package; None if its name or version is invalid. origin: 'git' and so on, if not from an index."""
    why = next((why for kinds, why in _ORIGINS.items() if origin in kinds), "")
    if why and package_of(name) in KNOWN:
        return Elsewhere(number=number, text=f"{name}=={version}", name=package_of(name), why=why)
    try:
        one = line_of(Span(number, f"{name}=={version}"), Requirement(f"{name}=={version}"))
    except InvalidRequirement:
        return None
    own = isinstance(one, Pinned) and tag and not one.local and one.wish.package.startswith("torch")
    return replace(one, local=tag) if own else one


_ORIGINS = {
    ("git", "vcs"): "comes from a repository",
    ("path", "directory", "editable", "virtual", "file"): "comes from a path",
}
"""Kinds of sources in uv.lock and poetry.lock -> why the package is not judged."""


def holds(marker: str, about: dict[str, str], path: str) -> bool:
    """Whether a marker applies to this machine. Raises Unclear."""
    try:
        return Marker(marker).evaluate(about)
    except InvalidMarker:
        raise Unclear(f"{path} is not a lock file: the marker {marker[:60]!r} cannot be read") from None


def of_poetry(content: Mapping[str, Any], text: str, path: str, q: Question) -> RequirementFile:
    """A poetry.lock: its metadata names the Pythons that the project allows."""
    numbers = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[package]]"]
    found: list[Found] = []
    packages, metadata = content.get("package"), content.get("metadata")
    python = pep440(str(metadata.get("python-versions") or "") if isinstance(metadata, dict) else "")
    for i, package in enumerate(packages if isinstance(packages, list) else ()):
        name, version = (package.get("name"), package.get("version")) if isinstance(package, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(version, str):
            raise Unclear(f"{path} is not a poetry.lock: a package without a name")
        marker, source = package.get("markers"), package.get("source")
        marker = " or ".join(map(str, marker.values())) if isinstance(marker, dict) else marker
        number = numbers[i] + 1 if i < len(numbers) else 0
        if isinstance(marker, str) and not applies(allows := partial(_any_holds, [marker], path), q):
            found += _skipped(number, name, version, allows, q, python)
            continue
        url = str(source.get("url")) if isinstance(source, dict) else ""
        origin = str(source.get("type")) if isinstance(source, dict) else ""
        one = locked(number, name, version, index_tag(url), origin)
        found += [one] if one else []
    return RequirementFile(kind="lock", **split(found), python=only_python(python), regenerate="poetry lock")


def of_pipenv(content: Any, text: str, path: str, q: Question) -> RequirementFile:
    """A Pipfile.lock."""
    if not isinstance(content, dict) or not isinstance(content.get("_meta"), dict):
        raise Unclear(f"{path} is JSON, but not a Pipfile.lock (no _meta)")
    meta = content["_meta"]
    urls = {str(one.get("name")): str(one.get("url")) for one in tables_of(meta, "sources")}
    rows = text.splitlines()
    found: list[Found] = []
    for section in ("default", "develop"):
        packages = content.get(section)
        for name, package in packages.items() if isinstance(packages, dict) else ():
            version = package.get("version") if isinstance(package, dict) else None
            marker = package.get("markers") if isinstance(package, dict) else None
            if not isinstance(package, dict):
                continue
            number = next((n for n, row in enumerate(rows, 1) if row.strip().startswith(f'"{name}":')), 0)
            if isinstance(marker, str) and not applies(allows := partial(_any_holds, [marker], path), q):
                found += _skipped(number, name, str(version or "").lstrip("="), allows, q)
                continue
            origin = next((key for key in ("git", "path", "file") if key in package), "")
            if not isinstance(version, str) and not origin:
                continue
            tag = index_tag(urls.get(str(package.get("index")), ""))
            one = locked(number, name, str(version or "0").lstrip("="), tag, origin)
            found += [one] if one else []
    requires = meta.get("requires")
    python = str(requires.get("python_version") or "") if isinstance(requires, dict) else ""
    return RequirementFile(kind="lock", **split(found), python=python, regenerate="pipenv lock")


_PLATFORM = {"linux_x86_64": "linux-64", "linux_aarch64": "linux-aarch64", "windows": "win-64"}
"""Platform of the matrix -> conda's name."""
_CONDA_FILE = re.compile(
    r"/(linux-64|linux-aarch64|win-64|noarch|osx-\S+?)/(pytorch)-(\d[\w.]*)-(\S+?)\.(?:conda|tar\.bz2)"
)


def of_conda_locks(text: str, path: str, q: Question) -> RequirementFile:
    """A pixi.lock or conda-lock.yml: this platform's conda packages, identified by their file names, and PyPI packages,
    identified by their wheels."""
    command = "pixi lock" if re.search(r"^environments:", text, re.M) else "conda-lock"
    if not re.search(r"^(?:packages|package):", text, re.M):
        raise Unclear(f"{path} is not a pixi.lock or conda-lock.yml (no packages)")
    wanted = _PLATFORM.get(q.platform, "linux-64")
    conda: list[Pinned] = []
    found: dict[str, Found] = {}
    for number, row in enumerate(text.splitlines(), 1):
        torch = _CONDA_FILE.search(row)
        if torch and torch[1] == wanted and not conda:
            spec = CondaSpec("pytorch", torch[3], torch[4])
            conda.append(
                Pinned(
                    number=number, text=f"pytorch={torch[3]}={torch[4]}", name="torch", wish=Wish("torch", torch[3]),
                    local=conda_tag([spec]),
                )
            )  # fmt: skip
        wheel = re.search(r"/([A-Za-z0-9_.]+-[\w.%+]+-[\w.]+-[\w.]+-[\w.]+\.whl)", row)
        need = _of_wheel(wheel[1], q) if wheel else None
        if need is not None:
            one = locked(number, need.name, str(need.specifier)[2:], index_tag(row))
            if one:
                found.setdefault(need.name, one)
    if conda:
        pip = RequirementFile(kind="lock", **split(found.values())) if found else None
        return RequirementFile(kind="conda", lines=tuple(conda), pip=pip, regenerate=command)
    return RequirementFile(kind="lock", **split(found.values()), regenerate=command)


def _of_wheel(name: str, q: Question) -> Requirement | None:
    """A wheel for this platform."""
    tag = name.rpartition("-")[2]
    own = "win_amd64" in tag if q.os == "windows" else "linux" in tag and q.arch in tag
    if not own and tag != "any.whl":
        return None
    try:
        return requirement_of(f"https://index/{name}", "")
    except Unclear:
        return None
