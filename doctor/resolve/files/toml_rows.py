"""Where a value stands in the text of a TOML file, so that an edit leaves the rest as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'")


class Rows:
    """The lines of a file with the table that each belongs to. A string that is found is not found again."""

    def __init__(self, text: str) -> None:
        self.rows = text.splitlines()
        self._used: set[tuple[int, int]] = set()
        self._tables: list[str] = []
        table = ""
        for row in self.rows:
            header = _HEADER.match(row)
            table = re.sub(r"[\"'\s]", "", header[1]) if header else table
            self._tables.append(table)

    def string(self, value: str) -> int:
        """The number of the next line with this string between quotes; 0 for none."""
        for number, row in enumerate(self.rows, 1):
            for found in _STRING.finditer(row):
                inner = found[1] if found[1] is not None else found[2]
                if inner == value and (number, found.start()) not in self._used:
                    self._used.add((number, found.start()))
                    return number
        return 0

    def entry(self, tables: Sequence[str], key: str) -> tuple[int, str]:
        """The line of `key = value` in one of these tables, and that text without its comment; (0, '') for none."""
        name = re.compile(rf"\s*([\"']?)({re.escape(key)})\1\s*=\s*(.+)$", re.I)
        for number, (row, table) in enumerate(zip(self.rows, self._tables, strict=True), 1):
            found = name.match(row) if table in tables else None
            if found:
                return number, _without_comment(row.strip())
        return 0, ""


def _without_comment(row: str) -> str:
    """`torch = "^2.1"` of `torch = "^2.1"  # why`."""
    bare = _STRING.sub(lambda found: "x" * len(found[0]), row)
    return row[: bare.index("#")].rstrip() if "#" in bare else row
