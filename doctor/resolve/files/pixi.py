"""pixi.toml: packages of conda, and those of PyPI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from compat_matrix.resolver import Question

from ..machine import Unclear
from .conda import CondaSpec, of_specs
from .lines import Other, Pinned, RequirementFile, index_tag, split
from .pyproject import entries, table
from .toml_rows import Rows

_PLATFORM = {"linux_x86_64": ("linux-64", "linux", "unix"), "linux_aarch64": ("linux-aarch64", "linux", "unix"),
             "windows": ("win-64", "win")}  # fmt: skip
"""Platform of the matrix -> pixi's names of it in [target.*]."""


def of_pixi(content: Mapping[str, Any], text: str, path: str, q: Question) -> RequirementFile:
    """Raises Unclear."""
    if not (table(content, "workspace") or table(content, "project")):
        raise Unclear(f"{path} is TOML, but not a pixi.toml (no [workspace] or [project])")
    rows = Rows(text)
    specs: list[tuple[str, int, CondaSpec]] = []
    found: list[Pinned | Other] = []
    for prefix, part in _parts(content, q):
        for name, value in table(part, "dependencies").items():
            number, row = rows.entry([f"{prefix}dependencies"], name)
            specs.append((row, number, _spec(name, value)))
        found += entries(table(part, "pypi-dependencies"), [f"{prefix}pypi-dependencies"], rows, q, {})
    conda, others = of_specs(specs)
    if conda:
        return RequirementFile(kind="pixi-conda", lines=tuple(conda), others=tuple(others), regenerate="pixi lock")
    lines, beside = split(found)
    return RequirementFile(
        kind="pixi", lines=tuple(_with_tag(one) for one in lines), others=beside, regenerate="pixi lock"
    )


def _parts(content: Mapping[str, Any], q: Question) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The default feature, the others, and in each what is for this platform."""
    features = [("", content), *((f"feature.{name}.", one) for name, one in table(content, "feature").items())]
    for prefix, feature in features:
        if isinstance(feature, dict):
            yield prefix, feature
            for target, part in table(feature, "target").items():
                if target in _PLATFORM.get(q.platform, ()) and isinstance(part, dict):
                    yield f"{prefix}target.{target}.", part


def _spec(name: str, value: Any) -> CondaSpec:
    inside = value if isinstance(value, dict) else {"version": value}
    version = str(inside.get("version") or "")
    return CondaSpec(
        name=name.lower(), version="" if version == "*" else version.removeprefix("=="),
        build=str(inside.get("build") or ""), channel=str(inside.get("channel") or ""),
    )  # fmt: skip


def _with_tag(one: Pinned) -> Pinned:
    """`index = "https://download.pytorch.org/whl/cu128"` of the entry itself."""
    tag = index_tag(one.text)
    return replace(one, local=tag) if tag and not one.local else one
