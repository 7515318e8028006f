"""Untrusted TOML, parsed with Python's own parser, whose time for a dotted key grows with the square of its parts."""

from __future__ import annotations

import re
import sys
from typing import Any

MOST_PARTS = 100
"""Parts of one dotted key; real tables are far less deep."""
_RUN = re.compile(r"[^=,\[\]{}#]+")
"""A whole key, and maybe more."""


class NotToml(ValueError):
    """The message says why in one line."""


def loads(text: str) -> dict[str, Any]:
    """The keys of a text. Raises NotToml."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    lines = (line for line in text.split("\n") if not line.lstrip().startswith("#"))
    if any(run.count(".") > MOST_PARTS for line in lines for run in _RUN.findall(line)):
        raise NotToml(f"a key has more than {MOST_PARTS} parts")
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise NotToml("nested too deeply") from None
    except ValueError as error:
        raise NotToml(" ".join(str(error).split())[:200]) from None
    return content
