"""pixi.toml: packages from conda and from PyPI."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from compat_matrix.installer import index_source
from compat_matrix.resolver import Question

from ..machine import Unclear
from .conda import CondaSpec, of_specs, python_of
from .entries import entries, first_index, of_index
from .lines import Found, Line, Pinned, RequirementFile, Span, split
from .reading import index_tag, not_read
from .sources import table
from .toml_spans import Path, Spans

_PLATFORM = {"linux_x86_64": ("unix", "linux", "linux-64"), "linux_aarch64": ("unix", "linux", "linux-aarch64"),
             "windows": ("win", "win-64")}  # fmt: skip
"""Platform in the matrix -> pixi's names for it in [target.*], the narrowest last."""


def of_pixi(content: Mapping[str, Any], text: str, path: str, q: Question) -> RequirementFile:
    """Raises Unclear."""
    if not (table(content, "workspace") or table(content, "project")):
        raise Unclear(f"{path} is TOML, but not a pixi.toml (no [workspace] or [project])")
    return of_tables(content, Spans(text), q, (), ())


def of_tables(
    content: Mapping[str, Any], spans: Spans, q: Question, root: Path, more: Iterable[Found]
) -> RequirementFile:
    """root: ('tool', 'pixi') in a pyproject.toml, whose own requirements, `more`, come from PyPI."""
    specs: list[tuple[Span, CondaSpec]] = []
    own_indexes, first = _indexes(content, root), first_index(table(content, *map(str, root), "pypi-options"))
    found = [of_index(one, "", own_indexes, first) if isinstance(one, Pinned) else one for one in more]
    features = table(content, *map(str, root), "feature")
    several = _several(content, root, q)
    tables: dict[tuple[int, str], str] = {}
    for feature, above in [("", root), *((name, (*root, "feature", name)) for name in features)]:
        indexes = _indexes(content, root, above)
        for name, (own, value) in _packages(content, above, "dependencies", q).items():
            if isinstance(value, dict) and isinstance(value.get("path"), str):
                found.append(not_read(spans.entry(own)[0].number, value["path"]))
            span = spans.entry(own)[0]
            specs.append((span, _spec(name, value)))
            tables[span.number, span.text] = _own_table(own, several)
        for name, (own, value) in _packages(content, above, "pypi-dependencies", q).items():
            for line in entries({name: value}, own[:-1], spans, q, {}, feature):
                line = of_index(_with_tag(line), "", indexes, first) if isinstance(line, Pinned) else line
                found.append(replace(line, table=_own_table(own, several)) if isinstance(line, Line) else line)
    conda, others = of_specs(specs)
    conda = [replace(one, table=tables[one.number, one.text]) for one in conda]
    others = [replace(one, table=tables[one.number, one.text]) for one in others]
    python = python_of(one for _, one in specs)
    pypi = RequirementFile(kind="pixi", **split(found), regenerate="pixi lock", python=python)
    if not conda:
        return pypi
    return RequirementFile(
        kind="pixi-conda", lines=tuple(conda), others=tuple(others), regenerate="pixi lock", unread=pypi.unread,
        elsewhere=pypi.elsewhere, pip=pypi, python=python,
    )  # fmt: skip


def _indexes(content: Mapping[str, Any], *above: Path) -> tuple[str, ...]:
    """The indexes in [pypi-options], the feature's first and the default last; empty if none is named."""
    extra, default = list[str](), "pypi"
    for path in dict.fromkeys(above):  # of the whole project, then of the feature
        options = table(content, *map(str, path), "pypi-options")
        urls = options.get("extra-index-urls")
        extra = [*(str(url) for url in (urls if isinstance(urls, list) else ())), *extra]
        default = str(options.get("index-url") or default)
    return (*map(index_source, extra), index_source(default)) if extra or default != "pypi" else ()


def _several(content: Mapping[str, Any], root: Path, q: Question) -> str:
    """The machine's platform, if the project also supports others; else ''."""
    above = tuple(map(str, root))
    named = (table(content, *above, "workspace") or table(content, *above, "project")).get("platforms")
    own = _PLATFORM.get(q.platform, ("",))[-1]
    return own if isinstance(named, list) and any(str(one) != own for one in named) else ""


def _own_table(path: Path, platform: str) -> str:
    """`target.linux-64.pypi-dependencies` for a package in a table for all platforms; else ''."""
    *above, kind, _ = path
    if not platform or "target" in above:
        return ""
    return ".".join(
        one if re.fullmatch(r"[\w-]+", one) else f'"{one}"' for one in map(str, (*above, "target", platform, kind))
    )


def _packages(content: Mapping[str, Any], above: Path, kind: str, q: Question) -> dict[str, tuple[Path, Any]]:
    """Name -> (path, value) in a feature: entries in [target.*] for this platform replace those for all."""
    own: dict[str, tuple[Path, Any]] = {}
    for path in _tables(above, q):
        for name, value in table(content, *map(str, path), kind).items():
            own[name.lower()] = ((*path, kind, name), value)
    return own


def _tables(above: Path, q: Question) -> Iterator[Path]:
    yield above
    for target in _PLATFORM.get(q.platform, ()):
        yield (*above, "target", target)


def _spec(name: str, value: Any) -> CondaSpec:
    inside = value if isinstance(value, dict) else {"version": value}
    version = str(inside.get("version") or "")
    return CondaSpec(
        name=name.lower(), version="" if version == "*" else version.removeprefix("=="),
        build=str(inside.get("build") or ""), channel=str(inside.get("channel") or ""),
    )  # fmt: skip


def _with_tag(one: Pinned) -> Pinned:
    """`index = "https://download.pytorch.org/whl/cu128"` of the entry itself."""
    tag = index_tag(" ".join((one.text, *(text for _, text in one.entry.keys)) if one.entry else (one.text,)))
    return replace(one, local=tag) if tag and not one.local else one
