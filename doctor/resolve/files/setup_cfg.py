"""setup.cfg: the requirements in setuptools' [options]."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement

from compat_matrix.resolver import Question

from ..machine import Unclear
from .lines import Found, RequirementFile, Span, split
from .pyproject import only_python
from .reading import applies, line_of, not_here, not_read, platforms


def of_setup_cfg(text: str, path: str, q: Question) -> RequirementFile:
    """Raises Unclear."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise Unclear(f"{path} is not valid: {str(error).splitlines()[0]}") from None
    rows = [
        span
        for section, key, span in _rows(text)
        if (section, key) == ("options", "install_requires") or section == "options.extras_require"
    ]
    if not rows:
        raise Unclear(f"{path} has no install_requires")
    python = parser.get("options", "python_requires", fallback="")
    found: list[Found] = []
    for span in rows:
        if span.text.startswith("file:"):
            found += [not_read(span.number, name.strip()) for name in span.text[5:].split(",")]
            continue
        try:
            need = Requirement(span.text)
        except InvalidRequirement as error:
            raise Unclear(
                f"{path}: {span.text[:60]!r} is not a valid requirement: {str(error).splitlines()[0]}"
            ) from None
        if need.marker is None or applies(need.marker.evaluate, q):
            found.append(line_of(span, need, on=platforms(need.marker.evaluate, q) if need.marker else ()))
        else:
            found += not_here(span, need.name, need.marker.evaluate, q, allowed=python)
    return RequirementFile(kind="cfg", **split(found), python=only_python(python))


_SECTION = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([^\s:=\[#;][^:=]*?)\s*[=:]\s*")


def _rows(text: str) -> Iterator[tuple[str, str, Span]]:
    """Section, key, and one line of its value, without comments."""
    section = key = ""
    offset = 0
    for number, whole in enumerate(text.splitlines(keepends=True), 1):
        row = whole.rstrip()
        found = _KEY.match(row)
        start = len(row) - len(row.lstrip())
        if not start:
            if header := _SECTION.match(row):
                section, key = header[1], ""
                row = ""
            elif found and not row.startswith(("#", ";")):
                key, start = found[1].strip().lower(), found.end()
        bare = re.sub(r"(^|\s)#.*$", "", row[start:]).rstrip()
        bare = "" if bare.startswith(";") else bare.removesuffix(";")
        if key and bare.strip():
            yield section, key, Span(number, bare, (offset + start, offset + start + len(bare)))
        offset += len(whole)
