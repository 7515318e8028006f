"""pyproject.toml (PEP 621, dependency groups, uv, PDM, Hatch, Poetry), and Pipfile, which has Poetry's syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from compat_matrix.resolver import Question
from compat_matrix.wishes import KNOWN

from ..machine import Unclear
from .entries import entries, first_index, here, of_index, pep440
from .lines import Elsewhere, Found, Other, Pinned, RequirementFile, Source, Span, split
from .pixi import of_tables
from .reading import (
    ASSUMED,
    PYTHONS,
    applies,
    environment,
    extras_in,
    line_of,
    not_here,
    not_read,
    package_of,
    platforms,
)
from .sources import (
    Tags,
    hatch_indexes,
    named,
    pdm_indexes,
    pdm_tag,
    table,
    tables_of,
    tags_by_group,
    uv_elsewhere,
    uv_indexes,
    uv_tags,
)
from .toml_spans import Path, Spans


def of_pyproject(content: Mapping[str, Any], text: str, path: str, q: Question) -> RequirementFile:
    """Raises Unclear if it has no known table of dependencies."""
    spans = Spans(text)
    tool = table(content, "tool")
    uv, poetry, pdm = table(tool, "uv"), table(tool, "poetry"), table(tool, "pdm")
    project = table(content, "project")
    if set(table(tool, "pixi")) & {"dependencies", "pypi-dependencies", "feature", "target"}:
        return of_tables(content, spans, q, ("tool", "pixi"), _requirements(content, spans, path, q))
    if not (project or poetry or table(content, "dependency-groups") or uv or pdm):
        raise Unclear(f"{path} has no [project], [dependency-groups] or [tool.poetry] table")
    kind = manager(content)
    groups = _groups(content)
    tags = {"uv": lambda: uv_tags(uv, q, groups), "poetry": lambda: _poetry_tags(poetry, q, groups)}.get(kind, dict)()
    elsewhere = list(uv_elsewhere(uv, spans, q))
    gone = {(group, one.name) for group, one in elsewhere if isinstance(one, Elsewhere)}
    hatch = hatch_indexes(table(tool, "hatch"))
    indexes = {"uv": uv_indexes(uv), "pdm": pdm_indexes(pdm), "pep621": hatch}.get(kind, ())
    found: list[Found] = []
    for one in _requirements(content, spans, path, q):
        if isinstance(one, Pinned):
            if {(one.group, one.wish.package), ("", one.wish.package)} & gone:
                continue
            own = tags.get(one.name, {})
            tag = own.get(one.group, own.get("", "")) or (pdm_tag(pdm, one.name) if kind == "pdm" else "")
            found.append(of_index(one, tag, indexes, kind == "uv" and first_index(uv)))
        else:
            found.append(one)
    found += [one for _, one in elsewhere]
    found += _poetry_lines(poetry, spans, q, _python(content))
    found += [*_included(content, spans), *_forced(content, spans)]
    return RequirementFile(
        kind=kind,
        **split(found),
        sources=_sources(kind, content, spans, poetry, q),
        platform=environment(q)["sys_platform"],
        requires=_requires(spans, project, poetry),
        python=only_python(_python(content)),
        regenerate=LOCKS.get(kind, ""),
    )


def of_pipfile(content: Mapping[str, Any], text: str, path: str, q: Question) -> RequirementFile:
    """A Pipfile."""
    spans = Spans(text)
    sources = {str(one.get("name")): str(one.get("url")) for one in tables_of(content, "source")}
    tables = ("packages", "dev-packages")
    found = [line for name in tables for line in entries(table(content, name), (name,), spans, q, sources)]
    return RequirementFile(
        kind="pipenv",
        **split(found),
        sources=named(spans, content, ("source",), {(name,): "index" for name in tables}, q),
        python=str(table(content, "requires").get("python_version") or ""),
        regenerate=LOCKS["pipenv"],
    )


LOCKS = {
    "uv": "uv lock", "poetry": "poetry lock", "pdm": "pdm lock", "pipenv": "pipenv lock", "pixi": "pixi lock",
}  # fmt: skip
"""Tool -> the command that writes its lock file."""


def manager(content: Mapping[str, Any]) -> str:
    """The tool that installs the project; 'pep621' if there is no sign of one."""
    tool = table(content, "tool")
    return next((name for name in ("uv", "poetry", "pdm") if name in tool), "pep621")


def _sources(
    kind: str, content: Mapping[str, Any], spans: Spans, poetry: Mapping[str, Any], q: Question
) -> tuple[Source, ...]:
    if kind == "uv":
        return named(spans, content, ("tool", "uv", "index"), {("tool", "uv", "sources"): "index"}, q)
    if kind == "pdm":
        return named(spans, content, ("tool", "pdm", "source"), {}, q)
    if kind == "poetry":
        users = {path: "source" for path, _ in _poetry_tables(poetry)}
        return named(spans, content, ("tool", "poetry", "source"), users, q)
    return ()


def _requirements(content: Mapping[str, Any], spans: Spans, path: str, q: Question) -> Iterator[Found]:
    """Every list of requirements, in the order in which they are merged when everything is installed."""
    lists: list[tuple[str, Path, Any]] = [
        ("", ("project", "dependencies"), table(content, "project").get("dependencies"))
    ]
    for above in (("project", "optional-dependencies"), ("dependency-groups",), ("tool", "pdm", "dev-dependencies")):
        lists += [(name, (*above, name), several) for name, several in table(content, *above).items()]
    lists.append(("dev", ("tool", "uv", "dev-dependencies"), table(content, "tool", "uv").get("dev-dependencies")))
    for name, env in table(content, "tool", "hatch", "envs").items():
        for key in ("dependencies", "extra-dependencies"):
            several = env.get(key) if isinstance(env, dict) else None
            lists.append((name, ("tool", "hatch", "envs", name, key), several))
    for group, own, several in lists:
        for i, text in enumerate(several if isinstance(several, list) else ()):
            if not isinstance(text, str) or not text.strip():
                continue  # {include-group = "..."}: every group of the file is read
            span = spans.value((*own, i))
            span = Span(span.number, text, span.at)
            if editable := re.match(r"-e\s+(\S+)|(\.{0,2}/\S+)$", text):
                yield not_read(span.number, editable[1] or editable[2])
                continue
            try:
                need = Requirement(text)
            except InvalidRequirement as error:
                raise Unclear(
                    f"{path}: {text[:60]!r} is not a valid requirement: {str(error).splitlines()[0]}"
                ) from None
            extras = (group,) if own[:2] == ("project", "optional-dependencies") else extras_in(need.marker)
            groups = applies(need.marker.evaluate, q, extras) if need.marker else ("",)
            if need.marker and not groups:
                yield from not_here(span, need.name, need.marker.evaluate, q, extras, _python(content))
                continue
            on = platforms(need.marker.evaluate, q, groups) if need.marker else ()
            line = line_of(span, need, on=on)
            if isinstance(line, Other) and re.match(r"file:", need.url or ""):
                yield not_read(span.number, str(need.url))
            yield replace(line, group=group or groups[0]) if isinstance(line, Pinned) else line


def _forced(content: Mapping[str, Any], spans: Spans) -> Iterator[str]:
    """A tool's overrides for packages in the matrix."""
    for key in ("override-dependencies", "constraint-dependencies"):
        several = table(content, "tool", "uv").get(key)
        for i, text in enumerate(several if isinstance(several, list) else ()):
            named_ = re.match(r"[\w.-]+", str(text))
            if named_ and package_of(named_[0]) in KNOWN:
                yield f"line {spans.value(('tool', 'uv', key, i)).number}: {text} in {key} was not judged"
    above = ("tool", "pdm", "resolution", "overrides")
    for name in table(content, *above):
        if package_of(name) in KNOWN:
            yield f"line {spans.pair((*above, name)).number}: {name} in overrides was not judged"


def _included(content: Mapping[str, Any], spans: Spans) -> Iterator[str]:
    """Files that contain requirements of this project."""
    dynamic = table(content, "tool", "setuptools", "dynamic")
    named_: list[tuple[Path, Any]] = [(("tool", "setuptools", "dynamic", "dependencies"), dynamic.get("dependencies"))]
    above = ("tool", "setuptools", "dynamic", "optional-dependencies")
    named_ += [((*above, name), one) for name, one in table(content, *above).items()]
    hook = ("tool", "hatch", "metadata", "hooks", "requirements_txt")
    named_ += [(hook, {"file": table(content, *hook).get("files")})]
    named_any = False
    for path, one in named_:
        files = one.get("file") if isinstance(one, dict) else None
        for file in files if isinstance(files, list) else [files]:
            if isinstance(file, str):
                named_any = True
                yield not_read(spans.pair(path).number or spans.entry(path)[0].number, file)
    listed = table(content, "project").get("dynamic")
    if isinstance(listed, list) and "dependencies" in listed and not named_any and not table(content, "tool", "poetry"):
        number = spans.pair(("project", "dynamic")).number
        yield f"line {number}: the build backend sets the dependencies, so they are not in this file"


def _poetry_tables(poetry: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for name in ("dependencies", "dev-dependencies"):
        yield ("tool", "poetry", name), table(poetry, name)
    for name in table(poetry, "group"):
        yield ("tool", "poetry", "group", name, "dependencies"), table(poetry, "group", name, "dependencies")


def _poetry_lines(poetry: Mapping[str, Any], spans: Spans, q: Question, python: str) -> Iterator[Found]:
    sources = {str(one.get("name")): str(one.get("url")) for one in tables_of(poetry, "source")}
    for path, one in _poetry_tables(poetry):
        yield from entries(one, path, spans, q, sources, allowed=python)


def _poetry_tags(poetry: Mapping[str, Any], q: Question, groups: Sequence[str]) -> Tags:
    """Tags of the sources that `torch = { source = "pytorch" }` names for a line in [project]."""
    urls = {str(one.get("name")): str(one.get("url")) for one in tables_of(poetry, "source")}
    several = [
        (canonicalize_name(name), here(one, q, groups), urls.get(str(one.get("source")), ""))
        for _, packages in _poetry_tables(poetry)
        for name, value in packages.items()
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, dict)
    ]
    return tags_by_group(several, groups)


def _groups(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The extras and dependency groups in the file."""
    above = (("project", "optional-dependencies"), ("dependency-groups",), ("tool", "poetry", "extras"))
    return tuple(dict.fromkeys(name for keys in above for name in table(content, *keys)))


def _requires(spans: Spans, project: Mapping[str, Any], poetry: Mapping[str, Any]) -> Other | None:
    text = project.get("requires-python")
    span = spans.pair(("project", "requires-python"))
    if not isinstance(text, str):
        text = table(poetry, "dependencies").get("python")
        span = spans.pair(("tool", "poetry", "dependencies", "python"))
    if not span.number or not isinstance(text, str):
        return None
    return Other(number=span.number, text=span.text, name="python", specifier=text, at=span.at)


def _python(content: Mapping[str, Any]) -> str:
    """The specifier of the Pythons that the project allows; '' for any."""
    python = table(content, "tool", "poetry", "dependencies").get("python")
    own = str(table(content, "project").get("requires-python") or "")
    return own or (pep440(python) if isinstance(python, str) else "")


def only_python(specifier: str) -> str:
    """The newest Python that a specifier allows. If it also allows unreleased ones: its oldest, if that is newer than
    the Python that markers are evaluated for; else ''."""
    try:
        allowed = SpecifierSet(specifier)
    except InvalidSpecifier:
        return ""
    matching = [one for one in PYTHONS if any(allowed.contains(f"{one}.{patch}") for patch in range(25))]
    if not matching:
        return ""
    if allowed.contains("3.99") or matching[-1] == PYTHONS[-1]:
        return matching[0] if PYTHONS.index(matching[0]) > PYTHONS.index(ASSUMED) else ""
    return matching[-1]
