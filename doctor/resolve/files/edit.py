"""A file with its changes, comments and all else kept."""

from __future__ import annotations

import re

from ..instead import Answered, Instead
from .lines import Asked, IndexLine, Other, Pinned


def text_of(file: Asked, number: int) -> str:
    """What a line of the file names; '' for one that is not there yet."""
    every: tuple[Pinned | Other | IndexLine, ...] = (*file.lines, *file.others, *file.indexes)
    return next((one.text for one in every if one.number == number), "")


def edited(text: str, answered: Answered) -> str:
    """A requirements.txt with what the answer writes and deletes; new indexes before the first line that is no comment,
    new packages at the end."""
    rows = text.splitlines()
    for one in sorted((one for one in answered.instead if one.number), key=lambda one: one.number, reverse=True):
        first = last = one.number - 1
        while rows[last].rstrip().endswith("\\") and last + 1 < len(rows):
            last += 1
        comment = re.search(r"\s+#.*$", rows[last])
        kept = comment[0] if comment else ""
        rows[first : last + 1] = [one.write + kept] if one.write else []
    at = next((i for i, row in enumerate(rows) if row.strip() and not row.lstrip().startswith("#")), len(rows))
    rows[at:at] = [f"--extra-index-url {url}" for url in answered.index.split()]
    rows += [one.write for one in answered.instead if not one.number and one.write]
    return "\n".join(rows) + "\n"


def note(one: Instead) -> str:
    """`    # line 3: goes with torch 2.7.1`."""
    where = f"line {one.number}" if one.number else "new"
    return f"    # {where}: {one.reason}" if one.reason else f"    # {where}"
