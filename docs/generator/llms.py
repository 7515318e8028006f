"""llms.txt (llmstxt.org): the list of all pages for a language model, each with a link to its Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECTIONS = {
    "": "Pages", "questions": "Questions", "places": "Where you are", "commands": "Commands",
    "checks": "Checks and causes",
}  # fmt: skip


def text(name: str, description: str, pages: Mapping[str, str]) -> str:
    """The list; `pages`: path below the site to Markdown."""
    parts = [f"# {name}", f"> {description}"]
    for folder, title in _SECTIONS.items():
        inside = [path for path in sorted(pages) if path.rpartition("/")[0] == folder]
        parts += [f"## {title}", "\n".join(_row(path, pages[path]) for path in inside)]
    return "\n\n".join(parts) + "\n"


def _row(path: str, markdown: str) -> str:
    """A page's title; for a check its name too, by which reports call it."""
    title = re.search(r"^# (.+)$", markdown, re.M)
    name = path.rpartition("/")[2].removesuffix(".md")
    words = title[1] if title else name
    return f"- [{words}]({path})" + (f": {name}" if path.startswith("checks/") and name != "index" else "")
