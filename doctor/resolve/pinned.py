"""Requirement lines that a GPU or driver can make dead: of a requirements.txt, or of a uv.lock."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from compat_matrix.installer import index_source
from compat_matrix.resolver import Question
from compat_matrix.wish import Wish
from compat_matrix.wishes import KNOWN

from .machine import Unclear


class Pinned(Struct, frozen=True, kw_only=True):
    """A line. wish: its package and version; local: 'cu126' of torch==2.8.0+cu126, or that of its index; indexes: what
    an installer chooses torch from where the line leaves that open: tags of PyTorch's indexes and 'pypi', last."""

    number: int
    text: str
    name: str
    wish: Wish
    local: str = ""
    indexes: tuple[str, ...] = ()


MOST_LINES = 300
"""Of torch and what is built for one release of it: each is judged with all others."""


def of_requirements(text: str, path: str, q: Question) -> tuple[Pinned, ...]:
    """The lines of a requirements.txt that name a package of the matrix and are for this platform. Raises Unclear."""
    found: list[Pinned] = []
    index, default = "", "pypi"
    extra: list[str] = []
    environment = _environment(q)
    for number, line in _joined(text):
        if not line:
            continue
        if len(found) > MOST_LINES:
            break  # whoever asks refuses it
        option = re.match(r"(?:-i|--index-url|--extra-index-url|-f|--find-links)[\s=]+(\S+)", line)
        if option:
            index = _index_tag(option[1]) or index
            source = index_source(option[1])
            if line.startswith(("-i", "--index-url")):
                default = source
            else:
                extra.append(source)
        if line.startswith("-"):
            continue
        requirement = _requirement(re.split(r"\s--\w", line)[0].strip(), f"{path}, line {number}")
        if requirement is None or (requirement.marker and not requirement.marker.evaluate(environment)):
            continue
        pinned = _pinned(number, line, requirement.name, str(requirement.specifier), requirement.url or "")
        if pinned:
            found.append(pinned)
    indexes = (*extra, default)
    tagged = [_with_index(one, index) for one in found]
    free = [one.name == "torch" and not one.local for one in found]
    return tuple(replace(one, indexes=indexes) if open_ else one for one, open_ in zip(tagged, free, strict=True))


def of_lock(content: Mapping[str, Any], text: str, path: str, q: Question) -> tuple[Pinned, ...]:
    """The packages of a uv.lock likewise. Raises Unclear."""
    packages = content.get("package")
    if not isinstance(packages, list) or not isinstance(content.get("version"), int):
        raise Unclear(f"{path} is TOML, but not a uv.lock (no version and packages)")
    environment = _environment(q)
    numbers = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[package]]"]
    found = []
    for i, package in enumerate(packages):
        if not isinstance(package, dict) or not isinstance(package.get("name"), str):
            raise Unclear(f"{path} is not a uv.lock: a package without a name")
        version, source = package.get("version"), package.get("source") or {}
        markers = package.get("resolution-markers") or []
        if not isinstance(version, str) or not isinstance(source, dict) or not isinstance(markers, list):
            continue
        if markers and not any(_holds(str(marker), environment, path) for marker in markers):
            continue
        number = numbers[i] + 1 if i < len(numbers) else 0
        line = f"{package['name']}=={version}"
        pinned = _pinned(number, line, package["name"], f"=={version}", "")
        if pinned:
            found.append(_with_index(pinned, _index_tag(str(source.get("registry") or ""))))
    return tuple(found)


def _joined(text: str) -> Sequence[tuple[int, str]]:
    """Lines without comments, continued ones as one, each with the number of its first."""
    rows: list[tuple[int, str]] = []
    part, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        first = first if part else number
        if raw.rstrip().endswith("\\"):
            part += raw.rstrip()[:-1] + " "
            continue
        line = part + raw
        rows.append((first, (re.sub(r"(^|\s)#.*$", "", line) if "#" in line else line).strip()))
        part = ""
    return [*rows, (first, part.strip())] if part else rows


def _requirement(line: str, where: str) -> Requirement | None:
    """None for a path or address without a name, which says nothing of a version."""
    if re.match(r"\.{0,2}/|file:|git\+|[A-Za-z]:\\", line):
        return None
    if re.match(r"https?://", line):
        name = line.partition("#")[0].rpartition("/")[2]
        try:
            project, version, _, _ = parse_wheel_filename(name.replace("%2B", "+").replace("%2b", "+"))
        except InvalidWheelFilename:
            return None
        return Requirement(f"{project}=={version}")
    try:
        return Requirement(line)
    except InvalidRequirement as error:
        raise Unclear(f"{where} is no requirement: {str(error).splitlines()[0]}") from None


def _pinned(number: int, line: str, name: str, specifier: str, url: str) -> Pinned | None:
    package: str = canonicalize_name(name)
    package = "cupy" if re.fullmatch(r"cupy-cuda\d+x", package) else package
    if package not in KNOWN:
        return None
    if url:
        inner = _requirement(url, "") if re.match(r"https?://", url) else None
        specifier = str(inner.specifier) if inner else ""
    exact = re.fullmatch(r"={2,3}(\d[^,*+]*)(?:\+(\w[\w.]*))?", specifier)
    wish = Wish(package, exact[1] if exact else specifier)
    local = exact[2] or "" if exact else ""
    own = package in ("torch", "torchvision", "torchaudio")
    return Pinned(number=number, text=line, name=canonicalize_name(name), wish=wish, local=local if own else "")


def _with_index(one: Pinned, tag: str) -> Pinned:
    return replace(one, local=tag) if tag and not one.local and one.wish.package.startswith("torch") else one


def _index_tag(url: str) -> str:
    """`cu126` of https://download.pytorch.org/whl/cu126."""
    found = re.search(r"/whl/(?:nightly/)?(cu\d+|cpu|rocm[\d.]+|xpu)/?", url)
    return found[1] if found else ""


def _environment(q: Question) -> dict[str, str]:
    python = q.python.rstrip("t") or "3.12"
    windows = q.os == "windows"
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "win32" if windows else "linux",
        "platform_system": "Windows" if windows else "Linux",
        "os_name": "nt" if windows else "posix",
        "platform_machine": "AMD64" if windows else q.arch,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }


def _holds(marker: str, environment: dict[str, str], path: str) -> bool:
    try:
        return Marker(marker).evaluate(environment)
    except InvalidMarker:
        raise Unclear(f"{path} is not a uv.lock: a resolution marker cannot be read") from None
