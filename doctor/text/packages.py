"""Installed packages: pip list, pip freeze, pip show, uv pip list, conda list, the lists inside collect_env."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from ..formats.versions import parse_torch
from . import values
from .statement import Line, Statement, say

_FREEZE = lazy(
    r"\s{0,8}(?:\[(?:pip3?|conda|uv)\]\s{0,4})?([A-Za-z0-9][\w.-]{0,80})(?:\[[\w,-]{0,60}\]| \([\w -]{1,40}\))?"
    r"==\s{0,2}(\S{1,80}(?: \S{1,40}){0,4})\s{0,8}$"
)
_ENV = lazy(
    r"\s{0,8}\[(?:pip3?|conda|uv)\]\s{1,4}([A-Za-z0-9][\w.-]{0,80})\s{1,40}([0-9][\w.+!-]{0,60})(?:\s{1,40}(\S{1,60}))?"
)
_TABLE = lazy(
    r"\s{0,4}([A-Za-z0-9][\w.-]{0,80})\s{1,60}([0-9][\w.+!]{0,60})(?:\s{1,40}(\S{1,80}))?"
    r"(?:\s{1,40}(\S{1,80}))?\s{0,8}$"
)
_HEAD = lazy(r"\s{0,4}(?:Package\s{1,60}Version|#\s{1,4}Name\s{1,60}Version|Name\s{1,60}Version)\b")
_QUERY = lazy(
    r"\s{0,8}(?:[$#%] ?)?(?:(?:python\S{0,8} -m )?pip3?|uv pip|conda|mamba|micromamba) (?:list|freeze)\b.{0,80}$", re.I
)
_GONE = lazy(r"\s{0,8}([A-Za-z0-9][\w.-]{0,80}) \(not installed\)$")
_SHOWN = lazy(r"\s{0,8}Name: ([A-Za-z0-9][\w.-]{0,80})$")
_SHOWN_VERSION = lazy(r"\s{0,8}Version: (\d[\w.+!]{0,60})$")
"""`pip show`, `uv pip show`, a wheel's METADATA: a block of keys that begins with these two."""
_WHEEL = lazy(r"\s{0,8}([A-Za-z0-9][\w.-]{0,80}) @ \S{0,400}?/([\w.+%-]{1,200}\.whl)")


def read_packages(lines: list[Line]) -> Iterator[Statement]:
    """A statement `package` (name, version) for each; conda's build string tells a CPU build of torch."""
    table = False
    shown = ""
    for line in lines:
        text = line.text
        if shown and text.lstrip().startswith("Version: ") and (found := _SHOWN_VERSION.match(text)):
            yield from package_statements(shown, found[1], "", line)
        shown = found[1] if "Name: " in text[:16] and (found := _SHOWN.match(text)) else ""
        if "==" in text and (found := _FREEZE.match(text)):
            yield from package_statements(found[1], found[2], "", line)
        elif text[:10].lstrip()[:1] == "[" and (found := _ENV.match(text)):
            yield from package_statements(found[1], found[2], found[3] or "", line)
        elif text.endswith("(not installed)") and (found := _GONE.match(text)):
            yield say("package", (_name(found[1]), None), line)
        elif " @ " in text and (found := _WHEEL.match(text)):
            parts = found[2].split("-")
            if len(parts) >= 5:
                yield from package_statements(found[1], parts[1].replace("%2B", "+"), "", line)
        elif ("Version" in text and _HEAD.match(text)) or (" list" in text and _QUERY.match(text)):
            table = True
        elif table:
            found = _TABLE.match(text)
            if found:
                yield from package_statements(found[1], found[2], found[3] or "", line)
            elif not set(text.strip()) <= set("- #"):
                table = False


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def package_statements(name: str, version: str, build: str, line: Line) -> Iterator[Statement]:
    """One package; of torch also what its version and conda's build string say."""
    name = _name(name)
    words = version.split()
    if not words or version.startswith("(") or values.is_bound(words[0]) or "," in words[0]:
        return
    if not re.match(r"[vV]?\d|py\d|cuda", words[0]):
        return  # `other build`, `latest`: words, no version
    build = build or (words[1] if len(words) > 1 and words[0][:1].isdecimal() else "")
    number = words[0]
    if name == "pytorch":  # conda's name of torch
        if build.startswith("cpu") or "_cpu" in build:
            yield say("torch.build", "cpu", line)
        elif cuda := re.search(r"cuda(\d{1,2}\.\d)", build):
            yield say("torch.build", "cuda", line)
            yield say("torch.cuda", cuda[1], line, weak=True)
        name = "torch"
    yield say("package", (name, number), line)
    if name == "torch":
        for torch_statement in torch_statements(number.strip("'\"`"), line):
            yield torch_statement._replace(weak=True)


def torch_statements(value: str, line: Line) -> Iterator[Statement]:
    """torch by its version; a weak word on its build by the version's tag."""
    version = values.torch(value)
    if version is None:
        if value.lower() in ("not installed", "none"):
            yield say("torch.version", values.GONE, line)
        return
    yield say("torch.version", version, line)
    parts = parse_torch(version)
    if parts and parts.build in ("cuda", "cpu", "rocm", "xpu"):
        yield say("torch.build", parts.build, line, weak=True)
        if parts.build == "cuda" and parts.toolkit:
            yield say("torch.cuda", parts.toolkit, line, weak=True)
