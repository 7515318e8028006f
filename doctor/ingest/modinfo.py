"""`modinfo nvidia`: version and licence of the module on disk (which need not be the loaded one)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import values
from .statement import Line, Statement, say

_FILE = re.compile(r"filename:\s{1,20}\S{0,200}/nvidia\.ko")
_FIELD = re.compile(r"(version|license):\s{1,20}(\S.{0,40})")
_MOST_LINES = 12


def read_modinfo(lines: list[Line]) -> Iterator[Statement]:
    """Statements `installed.driver` and `installed.flavour`."""
    left = 0
    for line in lines:
        if line.text.startswith("filename:"):
            left = _MOST_LINES if _FILE.match(line.text) else 0
        elif left > 0:
            left -= 1
            found = _FIELD.match(line.text)
            if found and found[1] == "version" and (version := values.driver(found[2])):
                yield say("installed.driver", version, line)
            elif found and found[1] == "license":
                yield say("installed.flavour", "open" if "GPL" in found[2] else "proprietary", line)
