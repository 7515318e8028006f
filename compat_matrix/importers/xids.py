"""NVIDIA's catalogue of Xid codes, against the copy that the table of codes is tested with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from .nvidia_pages import tables

CATALOGUE = Path(__file__).parents[2] / "tests" / "text" / "xid_catalogue.tsv"
"""In a checkout: immediate action, investigatory action, category, codes. What a code means and what to do about it
is in doctor/text/tables/xids.toml, in our words; the tests hold it to this file."""


class Entry(NamedTuple):
    """What the catalogue says of one code; '-' where it says nothing."""

    immediate: str
    investigatory: str
    category: str


def catalogue(text: str) -> dict[int, Entry]:
    """The codes of NVIDIA's page that are in use. Raises ValueError where it has no such table."""
    found: dict[int, Entry] = {}
    for table in tables(text):
        head = next((row for row in table if "Mnemonic" in row), None)
        if head is None:
            continue
        at = {name: number for number, cell in enumerate(head) for name in _COLUMNS if name in cell}
        for row in table:
            if len(row) != len(head) or row[0] != "XID" or not row[at["Code"]].isdigit() or _unused(row):
                continue
            immediate, investigatory = (_word(row[at[name]]) for name in _COLUMNS[2:])
            found[int(row[at["Code"]])] = Entry(immediate, investigatory, row[at["Description"]])
    if not found:
        raise ValueError("no catalogue of Xid codes in it (Type (XID), Code, Mnemonic ...)")
    return found


_COLUMNS = ("Code", "Description", "Immediate Action", "Investigatory Action")


def _unused(row: list[str]) -> bool:
    return any(cell.endswith("Unused") for cell in row)


def _word(cell: str) -> str:
    return re.sub(r"\s+", "_", cell) if cell and cell != "N/A" else "-"


def kept(path: Path) -> tuple[list[str], dict[int, Entry]]:
    """(comments, code -> entry) of the file. Raises OSError, ValueError."""
    lines = path.read_text("utf-8").splitlines()
    entries: dict[int, Entry] = {}
    for line in lines:
        if line and not line.startswith("#"):
            *entry, codes = line.split("\t")
            if len(entry) != 3:
                raise ValueError(f"{path}: not four columns: {line!r}")
            entries.update((int(code), Entry(*entry)) for code in codes.split())
    return [line for line in lines if line.startswith("#")], entries


def differences(found: dict[int, Entry], before: dict[int, Entry]) -> tuple[list[str], list[str], dict[int, Entry]]:
    """(lines about new codes, lines about other actions, what the file should say). A category keeps our word for it.

    A code that the page no longer lists stays: older drivers still print it.
    """
    new, other, after = [], [], dict(before)
    for code, entry in sorted(found.items()):
        if code not in before:
            after[code] = entry
            new.append(f"xids {code}: new: {entry.immediate}, {entry.investigatory}, {entry.category!r}")
        elif entry[:2] != before[code][:2]:
            after[code] = before[code]._replace(immediate=entry.immediate, investigatory=entry.investigatory)
            other.append(f"xids {code}: {' '.join(before[code][:2])} -> {' '.join(entry[:2])}")
    return new, other, after


def write(path: Path, comments: list[str], entries: dict[int, Entry]) -> None:
    """Put the entries into the file, codes with the same entry in one line."""
    grouped: dict[Entry, list[int]] = {}
    for code, entry in sorted(entries.items()):
        grouped.setdefault(entry, []).append(code)
    lines = ["\t".join([*entry, " ".join(map(str, codes))]) for entry, codes in grouped.items()]
    path.write_text("\n".join([*comments, *lines]) + "\n", "utf-8")
