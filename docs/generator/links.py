"""Links to checks: to the check's own file, whose docstring is the page; on the site, to that page."""

from __future__ import annotations

import re
from collections.abc import Collection
from posixpath import dirname, join, normpath, relpath

_LINK = re.compile(r"\]\((?P<path>(?:\.\./)+doctor/[\w/.-]+)\)")
_ID = re.compile(r"(?<![\[`])`([a-z0-9]+(?:-[a-z0-9]+)+)`(?![`\]])")
_CODE = re.compile(r"^```.*?^```$", re.M | re.S)


def to_file(name: str, causes: Collection[str], text: str = "") -> str:
    """A link, from a page in docs, to the file of a check or of one of these causes that only a text can show."""
    file = f"text/causes/{name}.txt" if name in causes else f"checks/{name.replace('-', '_')}.py"
    return f"[{text or name}](../doctor/{file})"


def for_site(markdown: str, page: str, names: Collection[str]) -> str:
    """A page with its links and bare ids leading to the site's pages of these checks; `page`: its path below docs."""
    here = dirname(page)

    def link(name: str) -> str:
        return relpath(f"checks/{name}.md", here or ".")

    def moved(found: re.Match[str]) -> str:
        path = normpath(join("docs", here, found["path"]))
        if path == "doctor/checks":
            return f"]({link('index')})"
        if path == "doctor/findings/thresholds.py":
            return f"]({link('index')}#thresholds)"
        name = re.sub(r"^doctor/(checks|text/causes)/|\.(py|txt)$", "", path).replace("_", "-")
        return f"]({link(name)})" if name in names else found[0]

    def named(found: re.Match[str]) -> str:
        own = page == f"checks/{found[1]}.md"
        return f"[{found[0]}]({link(found[1])})" if found[1] in names and not own else found[0]

    def prose(text: str) -> str:
        lines = (line if line.startswith("#") else _ID.sub(named, line) for line in text.split("\n"))
        return _LINK.sub(moved, "\n".join(lines))

    codes = [*_CODE.finditer(markdown)]
    starts, ends = [0, *(code.end() for code in codes)], [*(code.start() for code in codes), len(markdown)]
    pieces = [prose(markdown[start:end]) for start, end in zip(starts, ends, strict=True)]
    return "".join(text for pair in zip(pieces, [*(code[0] for code in codes), ""], strict=True) for text in pair)
