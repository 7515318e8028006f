"""setup.cfg: the requirements of setuptools' [options]."""

from __future__ import annotations

import configparser
import re

from packaging.requirements import InvalidRequirement, Requirement

from compat_matrix.resolver import Question

from ..machine import Unclear
from .lines import RequirementFile, environment, line_of, split
from .pyproject import only_python


def of_setup_cfg(text: str, path: str, q: Question) -> RequirementFile:
    """Raises Unclear."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise Unclear(f"{path} is not valid: {str(error).splitlines()[0]}") from None
    lists = [parser.get("options", "install_requires", fallback="")]
    if parser.has_section("options.extras_require"):
        lists += [value for _, value in parser.items("options.extras_require")]
    if not any(lists):
        raise Unclear(f"{path} has no install_requires")
    rows = [row.split("#")[0].strip() for row in text.splitlines()]
    about, found = environment(q), []
    for several in lists:
        for line in several.replace(";\n", "\n").splitlines():
            wanted = line.split("#")[0].strip()
            if not wanted or wanted.startswith("file:"):
                continue
            try:
                need = Requirement(wanted)
            except InvalidRequirement as error:
                raise Unclear(f"{path}: {wanted[:60]!r} is no requirement: {str(error).splitlines()[0]}") from None
            if need.marker is None or need.marker.evaluate(about):
                pattern = re.compile(rf"(?:[\w-]+\s*[=:]\s*)?{re.escape(wanted)};?")
                number = next((n for n, row in enumerate(rows, 1) if pattern.fullmatch(row)), 0)
                found.append(line_of(number, wanted, need))
    lines, others = split(found)
    python = only_python(parser.get("options", "python_requires", fallback=""))
    return RequirementFile(kind="cfg", lines=lines, others=others, python=python)
