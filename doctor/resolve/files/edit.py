"""A file with its changes, comments and all else kept."""

from __future__ import annotations

import re

from ..instead import Answered, Instead
from .lines import RequirementFile


def edited(text: str, file: RequirementFile, answered: Answered, tables: str = "") -> str:
    """The whole file. tables: what is added to a TOML file."""
    if file.kind == "requirements":
        return _requirements(text, answered)
    rows = text.splitlines()
    for number in sorted({one.number for one in answered.instead if one.number}, reverse=True):
        row: str | None = rows[number - 1]
        for one in answered.instead:
            if one.number == number and row is not None:
                row = _without(row, one.text, one.write)
        rows[number - 1 : number] = [row] if row is not None else []
    if file.kind == "conda-pip":
        at = next((i for i, row in enumerate(rows) if re.match(r"\s*-\s*pip\s*:", row)), len(rows) - 1)
        space = re.match(r"\s*", rows[at + 1])[0] if at + 1 < len(rows) else "    "  # type: ignore[index]
        rows[at + 1 : at + 1] = [f"{space}- --extra-index-url {url}" for url in answered.index.split()]
    return _with_tables("\n".join(rows) + "\n", tables)


def _without(row: str, old: str, write: str) -> str | None:
    """The row with the new text; None where nothing is left of it."""
    pattern = rf"(?<![\w.-]){re.escape(old)}(?![\w.-])"  # torch is a part of torchvision
    if write:
        return re.sub(pattern, lambda _: write, row, count=1)
    left = re.sub(rf"\s*([\"']?){pattern}\1\s*,?", "", row, count=1)
    bare = left.split("#")[0].strip()
    return None if bare in ("", "-", ",") else left


def _with_tables(text: str, tables: str) -> str:
    """Tables at the end; entries of one that is there already under its header."""
    if not tables:
        return text
    head, _, entries = tables.partition("\n")
    if head.startswith("[[") or not re.search(rf"^\s*{re.escape(head)}\s*$", text, re.M):
        return f"{text}\n{tables}"
    own, _, rest = entries.partition("\n\n")
    names = [re.escape(row.split("=")[0].strip()) for row in own.splitlines()]
    text = re.sub(rf"^({'|'.join(names)})\s*=\s*\{{\s*index\s*=.*\n", "", text, flags=re.M)
    text = re.sub(rf"^(\s*{re.escape(head)}\s*)$", lambda found: f"{found[1]}\n{own}", text, count=1, flags=re.M)
    return f"{text}\n{rest}"


def _requirements(text: str, answered: Answered) -> str:
    """New indexes before the first line that is no comment, new packages at the end."""
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
