"""The index by error text: what tools print, and the checks that such a line decides or allows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .words import code, mark

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CATALOGUE = Path(__file__).parents[2] / "doctor" / "text" / "catalogue"
INTRODUCTION = """\
What tools print, by tool, and what it comes from. A line allows more than it proves: give the whole text to
`gpudoctor explain`, which reads the versions and GPUs in it too."""
_LONGEST = 110
_LEFT_OUT = ("people", "topics")
"""Words of people, and topics: no text that somebody would search for."""


def pages() -> dict[str, str]:
    """Path to text."""
    parts = [
        mark("doctor/text/catalogue/*.toml"),
        "# By error text",
        INTRODUCTION,
    ]
    for path in sorted(CATALOGUE.glob("*.toml")):
        if path.stem in _LEFT_OUT:
            continue
        rows = [row for one in tomllib.loads(path.read_text("utf-8")).values() for row in _row(one)]
        if rows:
            parts += [f"## {path.stem}", "\n".join(["| the text | what it comes from |", "| --- | --- |", *rows])]
    return {"errors.md": "\n\n".join(parts) + "\n"}


def _row(message: dict[str, Any]) -> list[str]:
    proves = message.get("decides", ())
    decides = [proves] if isinstance(proves, str) else [one if isinstance(one, str) else one["check"] for one in proves]
    causes = list(dict.fromkeys([*decides, *message.get("suggests", ())]))
    said = message.get("says")
    if not causes or not said:
        return []
    first = said[0] if isinstance(said[0], str) else said[0][0]
    text = " ".join(first.split())
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    named = [f"[{name}](checks/{name}.md)" for name in causes if name != "healthy"]
    return [f"| {code(text)} | {', '.join(named[:4])} |"] if named else []
