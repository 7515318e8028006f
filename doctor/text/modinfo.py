"""`modinfo nvidia`: version and licence of the module on disk (which need not be the loaded one)."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from . import values
from .statement import Line, Statement, say

_FILE = lazy(r"filename:\s{1,20}\S{0,200}/nvidia\.ko")
_FIELD = lazy(r"(version|license):\s{1,20}(\S.{0,40})")
_MOST_LINES = 12
_QUERY = lazy(r"\bmodinfo (?:-\S{1,12} )?(?:-F license )?nvidia(?:[-_]current|-open)?\b(?! ?-)(.{0,80})")
_ANSWER = lazy(r"(?:license:\s{0,20})?(NVIDIA|Dual MIT/GPL)\s{0,4}$")
_INLINE = lazy(r"\blicense\W{1,6}(?:is )?(NVIDIA|Dual MIT/GPL)(?![\w-])")
_ALONE = lazy(r"license:\s{6,12}NVIDIA$")
"""As modinfo sets it; no other module has this licence, nor does another tool print it so."""
_NEAR = 3


def read_modinfo(lines: list[Line]) -> Iterator[Statement]:
    """Statements `installed.driver` and `installed.flavour`."""
    left = query_line = 0
    for line in lines:
        if line.text.startswith("filename:"):
            left = _MOST_LINES if _FILE.match(line.text) else 0
        elif left > 0:
            left -= 1
            found = _FIELD.match(line.text)
            if found and found[1] == "version" and (version := values.driver(found[2])):
                yield say("installed.driver", version, line)
            elif found and found[1] == "license":
                yield say("installed.flavour", _flavour(found[2]), line)
        elif "modinfo" in line.text and (question := _QUERY.search(line.text)):
            query_line = line.number if "icense" in question[0] or not question[1].strip() else 0
            if inline := _INLINE.search(question[1]):
                yield say("installed.flavour", _flavour(inline[1]), line)
        elif 0 < line.number - query_line <= _NEAR and query_line and (answer := _ANSWER.match(line.text)):
            yield say("installed.flavour", _flavour(answer[1]), line)
        elif line.text.startswith("license:") and _ALONE.match(line.text):
            yield say("installed.flavour", "proprietary", line)


def _flavour(license_name: str) -> str:
    return "open" if "GPL" in license_name else "proprietary"
