"""Tables on NVIDIA's pages: cuda-compat packages by the host's driver branch, and the catalogue of Xid codes. And the
device ids in the README of its open kernel modules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from html.parser import HTMLParser
from typing import Any

from .rows import Found

COMPAT = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"
XIDS = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
DEVICES = "https://raw.githubusercontent.com/NVIDIA/open-gpu-kernel-modules/main/README.md"
_MARKS = {"C": "compatible", "X": "not-compatible", "N/A": "not-needed", "-": "not-needed"}


class _Tables(HTMLParser):
    """The tables of a page: rows of cells, as text."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("td", "th", "tr", "table")

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.tables[-1][-1][-1] += data


def tables(text: str) -> list[list[list[str]]]:
    """Every table of an HTML page, each a list of rows of cells."""
    parser = _Tables()
    parser.feed(text)
    return [[[" ".join(cell.split()) for cell in row] for row in table if row] for table in parser.tables]


def compat(text: str, rows: Iterable[dict[str, Any]] = (), day: str = "") -> list[Found]:
    """Which cuda-compat package works on which driver branch. Raises ValueError where the page has no such table."""
    source = f"{COMPAT.removeprefix('https://')} (read {day or date.today().isoformat()})"
    listed = {row["cuda"] for row in rows}
    found = []
    for table in tables(text):
        branches: list[str] = []
        for row in table:
            heads = [match[1] for cell in row if (match := re.match(r"(\d{3})\+", cell))]
            branches = heads or branches
            package = re.fullmatch(r"(?:cuda-compat-)?(\d+)[-.](\d+)", row[0])
            marks = [_MARKS.get(cell.split(" ")[0]) for cell in row[1 + len(row[1:]) - len(branches) :]]
            if not package or not branches or len(marks) != len(branches) or None in marks:
                continue
            cuda = f"{package[1]}.{package[2]}"
            hosts = dict(sorted(zip(branches, marks, strict=True)))
            fields: dict[str, Any] = {"hosts": hosts}
            if cuda not in listed:
                native = [branch for branch, mark in hosts.items() if mark == "not-needed"]
                fields["package"] = f"cuda-compat-{package[1]}-{package[2]}"
                fields |= {"from_branch": int(native[0])} if native else {}
            found.append(Found("forward_compat", (cuda,), fields, source, "documented"))
    if not found:
        raise ValueError("no table of cuda-compat packages by driver branch in it")
    return found


def devices(text: str, rows: Iterable[dict[str, Any]] = (), day: str = "") -> list[Found]:
    """README.md of the open kernel modules: device ids that no row has, with the GPU of that name, else as a board.

    rows: those of `gpus` and `boards`. An id with a subsystem is a board of another name, and not read.
    """
    lines = re.findall(r"^\| *([^|\n]*?) *\| *([0-9A-F]{4}) *\|$", text, re.M)
    if not lines:
        raise ValueError("no table of device ids in it (| NVIDIA TITAN RTX | 1E02 |)")
    read = day or date.today().isoformat()
    source = f"github.com/NVIDIA/open-gpu-kernel-modules/blob/{{main of {read}}}/README.md"
    rows = list(rows)
    known = {device for row in rows for device in row.get("device_ids", ())}
    names = {_bare(name): row for row in rows if "id" in row for name in (row["name"], *row.get("aliases", ()))}
    extra: dict[str, set[str]] = {}
    for name, device in lines:
        if device not in known or _bare(name) in names:
            extra.setdefault(name.strip(), set()).update({device} - known)
    found = []
    for name, ids in extra.items():
        row = names.get(_bare(name))
        table, key = ("gpus", (row["id"],)) if row else ("boards", (name, ""))
        own = row.get("device_ids", []) if row else []
        fields = {"device_ids": sorted({*own, *ids}) if ids else own}
        found.append(Found(table, key, fields, source, "documented"))
    return found


def _bare(name: str) -> str:
    return name.strip().removeprefix("NVIDIA ").casefold()
