"""Named indexes in a TOML file (uv, Poetry, PDM, Pipenv), and which package comes from which."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from packaging.utils import canonicalize_name

from compat_matrix.installer import index_source
from compat_matrix.resolver import Question
from compat_matrix.wishes import KNOWN

from .entries import for_platforms, here
from .lines import Elsewhere, Found, Source, Span, Word
from .reading import index_tag, not_read, package_of, pytorch_tag
from .toml_spans import Path, Spans


def table(content: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """A table inside another one; empty if there is none."""
    for key in keys:
        found = content.get(key)
        content = found if isinstance(found, dict) else {}
    return content


def tables_of(content: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """An array of tables; empty if it is something else."""
    found = content.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def named(
    spans: Spans, content: Mapping[str, Any], tables: Path, users: Mapping[Path, str], q: Question
) -> tuple[Source, ...]:
    """`tables`: the path of the array of indexes. users: path of a table of packages -> the key with which a package
    names its index."""
    found: Any = content
    for key in tables:
        found = found.get(key) if isinstance(found, dict) else None
    sources = []
    words: dict[str, list[Word]] = {}
    for path, key in users.items():
        for package, value in table(content, *map(str, path)).items():
            for i, one in enumerate(value if isinstance(value, list) else [value]):
                own = (*path, package, i, key) if isinstance(value, list) else (*path, package, key)
                if isinstance(one, dict) and isinstance(one.get(key), str):
                    groups = here(one, q)
                    other = None if groups else spans.pair((*path, package))
                    on = for_platforms(one, q, groups or ("",))
                    marker = str(one.get("marker") or one.get("markers") or "")
                    word = Word(canonicalize_name(package), spans.pair(own), other, on, marker)
                    words.setdefault(one[key], []).append(word)
    for i, one in enumerate(found if isinstance(found, list) else ()):
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            name, url = one["name"], str(one.get("url"))
            itself = Word("", spans.pair((*tables, i, "name")))
            sources.append(
                Source(
                    name=name, tag=pytorch_tag(url), url=string_at(spans, (*tables, i, "url")),
                    words=(itself, *words.get(name, ())),
                )
            )  # fmt: skip
    return tuple(sources)


def uv_tags(uv: Mapping[str, Any], q: Question, groups: Sequence[str]) -> Tags:
    """groups: the extras and groups of the file."""
    urls = {str(one.get("name")): str(one.get("url")) for one in tables_of(uv, "index")}
    several = [
        (name, (own,) if (own := _group(one)) else here(one, q, groups), urls.get(str(one.get("index")), ""))
        for name, _, one in _uv_sources(uv, q)
    ]
    return tags_by_group(several, groups)


Tags = dict[str, dict[str, str]]
"""Package -> extra or group ('' for none) -> tag of the index that the file names for it on this machine."""


def tags_by_group(several: Iterable[tuple[str, Sequence[str], str]], groups: Sequence[str]) -> Tags:
    """several: package, the extras and groups that take it from an index, the index's address. If only extras name an
    index, and the package is outside them, a CUDA build is judged."""
    found: Tags = {}
    for name, own, url in several:
        for group in own:
            found.setdefault(name, {}).setdefault(group, index_tag(url))
    for tags in found.values():
        tags.setdefault("", next((tag for tag in tags.values() if tag.startswith("cu")), ""))
        for group in groups:
            tags.setdefault(group, "")
    return found


def uv_elsewhere(uv: Mapping[str, Any], spans: Spans, q: Question) -> Iterator[tuple[str, Found]]:
    """Group, and the package that tool.uv.sources takes from a path, repository or URL."""
    for name, path, one in _uv_sources(uv, q):
        span = spans.pair(path)
        span = span if span.number else spans.entry(path)[0]
        known = package_of(name) in KNOWN
        why = next((why for key, why in _WHY.items() if one.get(key)), "")
        if why and known:
            line = Elsewhere(number=span.number, text=span.text, name=package_of(name), why=why)
            yield _group(one) or here(one, q)[0], line
        elif isinstance(one.get("path"), str):
            yield "", not_read(span.number, one["path"])
        elif one.get("workspace") is True:
            yield "", not_read(span.number, f"the workspace's {name}")


_WHY = {
    "git": "comes from a repository", "path": "comes from a path", "url": "comes from a URL",
    "workspace": "comes from a workspace",
}  # fmt: skip


def _uv_sources(uv: Mapping[str, Any], q: Question) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    for name, source in table(uv, "sources").items():
        path: Path = ("tool", "uv", "sources", name)
        for i, one in enumerate(source if isinstance(source, list) else [source]):
            if isinstance(one, dict) and here(one, q):
                yield canonicalize_name(name), (*path, i) if isinstance(source, list) else path, one


def _group(one: Mapping[str, Any]) -> str:
    return str(one.get("extra") or one.get("group") or "")


def uv_indexes(uv: Mapping[str, Any]) -> tuple[str, ...]:
    """The indexes in the order in which uv asks them, the default last."""
    default, extra = "pypi", []
    for one in tables_of(uv, "index"):
        if one.get("explicit"):
            continue
        source = index_source(str(one.get("url")))
        if one.get("default"):
            default = source
        else:
            extra.append(source)
    urls = uv.get("extra-index-url")
    extra += [index_source(str(url)) for url in (urls if isinstance(urls, list) else ())]
    return (*extra, index_source(str(uv["index-url"])) if uv.get("index-url") else default)


def pdm_tag(pdm: Mapping[str, Any], package: str) -> str:
    """The tag of the source that includes a package."""
    for one in tables_of(pdm, "source"):
        names = one.get("include_packages")
        if isinstance(names, list) and any(fnmatch.fnmatch(package, str(name)) for name in names):
            return index_tag(str(one.get("url")))
    return ""


def pdm_indexes(pdm: Mapping[str, Any]) -> tuple[str, ...]:
    """The sources for all packages, and PyPI unless one of them has its name."""
    free = [one for one in tables_of(pdm, "source") if not one.get("include_packages")]
    urls = [index_source(str(one.get("url"))) for one in free]
    pypi = () if any(one.get("name") == "pypi" for one in free) else ("pypi",)
    return (*urls, *pypi) if urls else ()


def hatch_indexes(hatch: Mapping[str, Any]) -> tuple[str, ...]:
    """The indexes in the variables of Hatch's environments for pip and uv, the default last."""
    extra, default = list[str](), "pypi"
    for name in table(hatch, "envs"):
        variables = table(hatch, "envs", name, "env-vars")
        for tool in ("PIP", "UV"):
            extra += str(variables.get(f"{tool}_EXTRA_INDEX_URL") or "").split()
            default = str(variables.get(f"{tool}_INDEX_URL") or default)
    sources = dict.fromkeys(index_source(url) for url in (*extra, default))
    return tuple(sources) if extra or default != "pypi" else ()


def string_at(spans: Spans, path: Path) -> Span:
    """A string of a list, whose text is without its quotes."""
    span = spans.value(path)
    return Span(span.number, span.text[1:-1], span.at)
