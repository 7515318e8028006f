"""pyproject.toml (PEP 621, dependency groups, uv, PDM, Hatch, Poetry) and Pipfile, which has Poetry's syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from compat_matrix.installer import index_source
from compat_matrix.resolver import Question

from ..machine import Unclear
from .lines import IndexLine, Other, Pinned, RequirementFile, environment, index_tag, line_of, pytorch_tag, split
from .toml_rows import Rows

PYTHONS = tuple(f"3.{minor}" for minor in range(6, 16))


def of_pyproject(content: Mapping[str, Any], text: str, path: str, q: Question) -> RequirementFile:
    """Raises Unclear where no table of dependencies is known."""
    rows = Rows(text)
    tool = table(content, "tool")
    uv, poetry, pdm = table(tool, "uv"), table(tool, "poetry"), table(tool, "pdm")
    project = table(content, "project")
    if not (project or poetry or table(content, "dependency-groups") or uv or pdm):
        raise Unclear(f"{path} has no [project], [dependency-groups] or [tool.poetry] table")
    tags = _uv_tags(uv, q)
    found = list(_requirements(content, rows, path, q))
    found += _poetry_lines(poetry, rows, q)
    lines, others = split(found)
    indexes = _indexes_of(uv) if _manager(content) == "uv" else ()
    return RequirementFile(
        kind=_manager(content),
        lines=tuple(_of_index(one, _tag_of(tags, one), indexes) for one in lines),
        others=others,
        indexes=tuple(_index_lines(rows, uv, poetry, pdm)),
        requires=_requires(rows, project, poetry),
        python=only_python(str(project.get("requires-python") or "") or _poetry_python(poetry)),
        regenerate=_LOCKS.get(_manager(content), ""),
    )


def of_pipfile(content: Mapping[str, Any], text: str, path: str, q: Question) -> RequirementFile:
    """A Pipfile."""
    rows = Rows(text)
    sources = {str(one.get("name")): str(one.get("url")) for one in tables_of(content, "source")}
    found = list(entries(table(content, "packages"), ["packages"], rows, q, sources))
    found += entries(table(content, "dev-packages"), ["dev-packages"], rows, q, sources)
    lines, others = split(found)
    return RequirementFile(
        kind="pipenv", lines=lines, others=others, indexes=tuple(_urls(rows, sources.values())),
        python=str(table(content, "requires").get("python_version") or ""), regenerate=_LOCKS["pipenv"],
    )  # fmt: skip


_LOCKS = {
    "uv": "uv lock", "poetry": "poetry lock", "pdm": "pdm lock", "pipenv": "pipenv lock", "pixi": "pixi lock",
}  # fmt: skip


def _manager(content: Mapping[str, Any]) -> str:
    """The tool that installs the project; 'pep621' where none names itself."""
    tool = table(content, "tool")
    return next((name for name in ("uv", "poetry", "pdm") if name in tool), "pep621")


def table(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A table in another one; empty where there is none."""
    found = content.get(key)
    return found if isinstance(found, dict) else {}


def tables_of(content: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """An array of tables; empty where something else stands there."""
    found = content.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _requirements(content: Mapping[str, Any], rows: Rows, path: str, q: Question) -> Iterator[Pinned | Other]:
    """Every list of requirements, in the order in which they are merged when all is installed."""
    project, tool = table(content, "project"), table(content, "tool")
    lists = [("", project.get("dependencies"))]
    lists += table(project, "optional-dependencies").items()
    lists += table(content, "dependency-groups").items()
    lists += [("dev", table(tool, "uv").get("dev-dependencies"))]
    lists += table(table(tool, "pdm"), "dev-dependencies").items()
    for name, env in table(table(tool, "hatch"), "envs").items():
        both = [env.get("dependencies"), env.get("extra-dependencies")] if isinstance(env, dict) else []
        lists += [(name, several) for several in both]
    about = environment(q)
    for group, several in lists:
        for text in several if isinstance(several, list) else ():
            if not isinstance(text, str) or not text.strip():
                continue  # {include-group = "..."}
            try:
                need = Requirement(text)
            except InvalidRequirement as error:
                raise Unclear(f"{path}: {text[:60]!r} is no requirement: {str(error).splitlines()[0]}") from None
            if need.marker is None or need.marker.evaluate(about):
                line = line_of(rows.string(text), text, need)
                yield replace(line, group=group) if isinstance(line, Pinned) else line


def _poetry_lines(poetry: Mapping[str, Any], rows: Rows, q: Question) -> Iterator[Pinned | Other]:
    sources = {str(one.get("name")): str(one.get("url")) for one in tables_of(poetry, "source")}
    tables = [("tool.poetry.dependencies", table(poetry, "dependencies"))]
    tables += [("tool.poetry.dev-dependencies", table(poetry, "dev-dependencies"))]
    for name, group in table(poetry, "group").items():
        inner = table(group, "dependencies") if isinstance(group, dict) else {}
        tables.append((f"tool.poetry.group.{name}.dependencies", inner))
    for name, one in tables:
        yield from entries(one, [name], rows, q, sources)


def entries(
    content: Mapping[str, Any], names: list[str], rows: Rows, q: Question, sources: Mapping[str, str]
) -> Iterator[Pinned | Other]:
    """`torch = "^2.1"`, `torch = { version = "2.1", source = "pytorch" }`, or a list of such tables."""
    about = environment(q)
    for key, value in content.items():
        if key.lower() == "python":
            continue
        number, text = rows.entry(names, key)
        if not number:
            number, text = rows.entry([f"{name}.{key}" for name in names], "version")
        for one in value if isinstance(value, list) else [value]:
            need = _poetry_requirement(key, one)
            if need is None or (need.marker and not need.marker.evaluate(about)):
                continue
            line = line_of(number, text or key, need)
            url = sources.get(str(one.get("source") or one.get("index") or "")) if isinstance(one, dict) else None
            yield _of_index(line, index_tag(url or ""), ()) if isinstance(line, Pinned) else line


def _poetry_requirement(key: str, value: Any) -> Requirement | None:
    """None for a path, a repository, or what cannot be read."""
    version = value.get("version") if isinstance(value, dict) else value
    url = value.get("url") if isinstance(value, dict) else None
    marker = value.get("markers") if isinstance(value, dict) else None
    if isinstance(value, dict) and not isinstance(version, str) and not isinstance(url, str):
        return None
    extras = value.get("extras") if isinstance(value, dict) else None
    named = f"[{','.join(map(str, extras))}]" if isinstance(extras, list) and extras else ""
    what = f" @ {url}" if isinstance(url, str) else pep440(str(version))
    try:
        return Requirement(f"{key}{named}{what}" + (f" ; {marker}" if isinstance(marker, str) else ""))
    except InvalidRequirement:
        return None


def pep440(text: str) -> str:
    """Poetry's and Pixi's '^2.1', '~2.1', '2.1.2', '2.1.*', '*' as a specifier."""
    parts = []
    for part in (one.strip() for one in text.split(",")):
        base = re.fullmatch(r"([\^~]?)=?\s*v?(\d+(?:\.\d+)*)(\.\*)?([\w.+-]*)", part)
        if part in ("*", ""):
            continue
        if part.startswith("~=") or not base:
            parts.append(part)
            continue
        numbers = [int(number) for number in base[2].split(".")]
        if base[1] == "^":
            at = next((i for i, number in enumerate(numbers) if number), len(numbers) - 1)
            upper = [*numbers[:at], numbers[at] + 1]
        elif base[1] == "~":
            upper = [*numbers[:1], numbers[1] + 1] if len(numbers) > 1 else [numbers[0] + 1]
        else:
            parts.append(f"=={base[2]}{base[3] or ''}{base[4]}")
            continue
        parts.append(f">={base[2]}{base[4]},<{'.'.join(map(str, upper))}")
    return ",".join(parts)


def _of_index(one: Pinned, tag: str, indexes: tuple[str, ...]) -> Pinned:
    """A line of an index of its own, or (torch) of all that the project names."""
    if tag and not one.local and one.wish.package.startswith("torch"):
        return replace(one, local=tag)
    return replace(one, indexes=indexes) if indexes and one.name == "torch" and not one.local else one


def _tag_of(tags: Mapping[str, Mapping[str, str]], one: Pinned) -> str:
    own = tags.get(one.name, {})
    return own.get(one.group) or own.get("", "")


def _uv_tags(uv: Mapping[str, Any], q: Question) -> dict[str, dict[str, str]]:
    """Package -> group -> the tag of the index that tool.uv.sources names for it on this machine. Where that differs by
    extra without lines of its own, a CUDA build is what is judged."""
    urls = {str(one.get("name")): str(one.get("url")) for one in tables_of(uv, "index")}
    found: dict[str, dict[str, str]] = {}
    for name, source in table(uv, "sources").items():
        tags = found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), {})
        for one in source if isinstance(source, list) else [source]:
            if not isinstance(one, dict) or not _for_machine(one.get("marker"), q):
                continue
            tag = index_tag(urls.get(str(one.get("index")), ""))
            in_marker = re.search(r"extra\s*==\s*[\"']([\w.-]+)", str(one.get("marker") or ""))
            group = str(one.get("extra") or one.get("group") or (in_marker[1] if in_marker else ""))
            tags.setdefault(group, tag)
            if tag.startswith("cu") or not group:
                tags.setdefault("", tag)
    return found


def _for_machine(marker: Any, q: Question) -> bool:
    from packaging.markers import InvalidMarker, Marker

    try:
        return not isinstance(marker, str) or "extra" in marker or Marker(marker).evaluate(environment(q))
    except InvalidMarker:
        return True


def _indexes_of(uv: Mapping[str, Any]) -> tuple[str, ...]:
    """What uv asks in this order, the default last."""
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


def _index_lines(rows: Rows, *tools: Mapping[str, Any]) -> Iterator[IndexLine]:
    for tool in tools:
        several = [*tables_of(tool, "index"), *tables_of(tool, "source")]
        yield from _urls(rows, [str(one.get("url")) for one in several])
        urls = tool.get("extra-index-url")
        yield from _urls(rows, map(str, urls if isinstance(urls, list) else ()))


def _urls(rows: Rows, urls: Any) -> Iterator[IndexLine]:
    for url in urls:
        if pytorch_tag(url) and (number := rows.string(url)):
            yield IndexLine(number=number, text=url, option="", tag=pytorch_tag(url))


def _requires(rows: Rows, project: Mapping[str, Any], poetry: Mapping[str, Any]) -> Other | None:
    text = project.get("requires-python")
    number, row = rows.entry(["project"], "requires-python")
    if not isinstance(text, str):
        text = table(poetry, "dependencies").get("python")
        number, row = rows.entry(["tool.poetry.dependencies"], "python")
    if not number or not isinstance(text, str):
        return None
    return Other(number=number, text=row, name="python", specifier=text)


def _poetry_python(poetry: Mapping[str, Any]) -> str:
    python = table(poetry, "dependencies").get("python")
    return pep440(python) if isinstance(python, str) else ""


def only_python(specifier: str) -> str:
    """The newest Python that a specifier allows; '' where it also allows those that are not out yet."""
    try:
        allowed = SpecifierSet(specifier)
    except InvalidSpecifier:
        return ""
    matching = [one for one in PYTHONS if any(allowed.contains(f"{one}.{patch}") for patch in range(25))]
    return "" if not matching or allowed.contains("3.99") or matching[-1] == PYTHONS[-1] else matching[-1]
