"""Requirements as keys of a table, as in Poetry, Pipenv and Pixi: `torch = { version = "^2.1" }`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace
from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement

from compat_matrix.resolver import Question
from compat_matrix.wishes import KNOWN

from .lines import Elsewhere, Entry, Found, Pinned, Platform, Span
from .reading import allows, applies, extras_in, index_tag, line_of, not_here, not_read, package_of, platforms
from .toml_spans import Path, Spans

_MARKER_KEYS = (
    "os_name", "sys_platform", "platform_machine", "platform_python_implementation", "platform_release",
    "platform_system", "platform_version", "python_version", "python_full_version", "implementation_name",
    "implementation_version",
)  # fmt: skip
"""Keys of Pipenv's entries: `sys_platform = "== 'linux'"`."""


def entries(
    content: Mapping[str, Any], path: Path, spans: Spans, q: Question, sources: Mapping[str, str], group: str = "",
    allowed: str = "",
) -> Iterator[Found]:  # fmt: skip
    """A table of requirements, each a value or a list of values for several platforms. path: the table's path; allowed:
    the specifier of the file's Pythons."""
    for key, value in content.items():
        if key.lower() == "python":
            continue
        for i, one in enumerate(value if isinstance(value, list) else [value]):
            own = (*path, key, i) if isinstance(value, list) else (*path, key)
            span, entry = spans.entry(own)
            span = replace(span, text=span.text or key)
            groups = here(one, q)
            if not groups:
                yield from not_here(span, key, partial(_holds, one), q, extras_in(*_markers(one)), allowed)
                continue
            line = _line(key, one, span, entry, for_platforms(one, q, groups))
            if isinstance(line, Pinned):
                line = replace(line, group=group or groups[0])
                url = sources.get(str(one.get("source") or one.get("index") or "")) if isinstance(one, dict) else None
                line = of_index(line, index_tag(url or ""), ())
            if line is not None:
                yield line


def _line(key: str, value: Any, span: Span, entry: Entry | None, on: tuple[Platform, ...]) -> Found | None:
    """None if the value has no version, as in Poetry's `{ source = "pytorch" }`."""
    inside = value if isinstance(value, dict) else {"version": value}
    why, what = _elsewhere(inside)
    known = package_of(key) in KNOWN
    if why and known:
        return Elsewhere(number=span.number, text=span.text, name=package_of(key), why=why)
    if why:
        return not_read(span.number, what) if why == "comes from a path" else None
    url = inside.get("url") or inside.get("file")
    version = inside.get("version")
    if not isinstance(url, str) and not isinstance(version, str):
        return None
    extras = inside.get("extras")
    named = f"[{','.join(map(str, extras))}]" if isinstance(extras, list) and extras else ""
    specifier = f"@ {url}" if isinstance(url, str) else pep440(str(version))
    try:
        return line_of(span, Requirement(f"{key}{named} {specifier}"), entry, on)
    except InvalidRequirement:
        why = f"has an unrecognized version ({str(version)[:40]})"
        return Elsewhere(number=span.number, text=span.text, name=package_of(key), why=why) if known else None


def _elsewhere(value: Mapping[str, Any]) -> tuple[str, str]:
    """('comes from a path', the path), or similar for a repository; ('', '') for a package from an index."""
    if any(key in value for key in ("git", "hg", "svn", "bzr")):
        return "comes from a repository", ""
    path = value.get("path") or value.get("file")
    if path and not re.match(r"https?://", str(path)):
        return "comes from a path", str(path)
    return ("comes from a workspace", "") if value.get("workspace") is True else ("", "")


def here(value: Any, q: Question, extras: Sequence[str] = ()) -> tuple[str, ...]:
    """The extras with which an entry applies to this machine ('': without any), out of these and those its markers
    name; empty if it does not apply."""
    return applies(partial(_holds, value), q, tuple(dict.fromkeys((*extras_in(*_markers(value)), *extras))))


def for_platforms(value: Any, q: Question, groups: Sequence[str] = ("",)) -> tuple[Platform, ...]:
    """The platforms that an entry applies to; empty for all."""
    return platforms(partial(_holds, value), q, groups)


def _markers(value: Any) -> list[Any]:
    return [value.get(key) for key in ("marker", "markers", "env-markers")] if isinstance(value, dict) else []


def _holds(value: Any, about: dict[str, str]) -> bool:
    """Whether its markers, Poetry's `platform` and `python`, and Pipenv's keys hold."""
    if not isinstance(value, dict):
        return True
    markers = _markers(value)
    markers += [f"{key} {value[key]}" for key in _MARKER_KEYS if isinstance(value.get(key), str)]
    return (
        all(for_machine(marker, about) for marker in markers)
        and _any_of(value.get("platform"), lambda part: _platform(part, about["sys_platform"]))
        and _any_of(value.get("python"), lambda part: _python(part, about["python_full_version"]))
    )


def for_machine(marker: Any, about: dict[str, str]) -> bool:
    """Whether a marker holds; true for anything that is not a marker."""
    try:
        return not isinstance(marker, str) or Marker(marker).evaluate(about)
    except InvalidMarker:
        return True


def _any_of(constraint: Any, allows: Any) -> bool:
    return not isinstance(constraint, str) or any(allows(part.strip()) for part in constraint.split("||"))


def _platform(part: str, name: str) -> bool:
    """'linux', '!=win32', '==linux' of sys.platform."""
    signs = [re.fullmatch(r"(!=|={0,3})\s*(\S+)", one.strip()) for one in part.split(",")]
    return all(sign is None or (sign[2] != name if sign[1] == "!=" else sign[2] in (name, "*")) for sign in signs)


def _python(part: str, version: str) -> bool:
    return allows(pep440(re.sub(r"(?<=[\w*])\s+(?=[<>=!~^])", ",", part)), version)


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


def of_index(one: Pinned, tag: str, indexes: tuple[str, ...], first: bool = False) -> Pinned:
    """A line with its own index, or (torch) with all indexes that the project names. first: whether only the first
    index that has it is used."""
    if tag and not one.local and one.wish.package.startswith("torch"):
        return replace(one, local=tag)
    return replace(one, indexes=indexes, first=first) if indexes and one.name == "torch" and not one.local else one


def first_index(options: Mapping[str, Any]) -> bool:
    """Whether uv, with these options in its own or pixi's table, takes a package from the first index that has it, as
    it does unless a different index-strategy is set."""
    return not str(options.get("index-strategy") or "").startswith("unsafe-")
