"""Lock files: what is pinned in them for this platform."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement

from compat_matrix.resolver import Question

from ..machine import Unclear
from .lines import Asked, Other, Pinned, environment, index_tag, line_of, split


def of_uv(content: Mapping[str, Any], text: str, path: str, q: Question) -> Asked:
    """The packages of a uv.lock. Raises Unclear."""
    packages = content.get("package")
    if not isinstance(packages, list) or not isinstance(content.get("version"), int):
        raise Unclear(f"{path} is TOML, but not a uv.lock (no version and packages)")
    about = environment(q)
    numbers = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[package]]"]
    found = []
    for i, package in enumerate(packages):
        if not isinstance(package, dict) or not isinstance(package.get("name"), str):
            raise Unclear(f"{path} is not a uv.lock: a package without a name")
        version, source = package.get("version"), package.get("source") or {}
        markers = package.get("resolution-markers") or []
        if not isinstance(version, str) or not isinstance(source, dict) or not isinstance(markers, list):
            continue
        if markers and not any(holds(str(marker), about, path) for marker in markers):
            continue
        number = numbers[i] + 1 if i < len(numbers) else 0
        one = locked(number, package["name"], version, index_tag(str(source.get("registry") or "")))
        found += [one] if one else []
    lines, others = split(found)
    return Asked(kind="lock", lines=lines, others=others, regenerate="uv lock")


def locked(number: int, name: str, version: str, tag: str) -> Pinned | Other | None:
    """A locked package; None where its name or version is none."""
    try:
        one = line_of(number, f"{name}=={version}", Requirement(f"{name}=={version}"))
    except InvalidRequirement:
        return None
    own = isinstance(one, Pinned) and tag and not one.local and one.wish.package.startswith("torch")
    return replace(one, local=tag) if own else one


def holds(marker: str, about: dict[str, str], path: str) -> bool:
    """Whether a marker is for this machine. Raises Unclear."""
    try:
        return Marker(marker).evaluate(about)
    except InvalidMarker:
        raise Unclear(f"{path} is not a lock file: the marker {marker[:60]!r} cannot be read") from None
