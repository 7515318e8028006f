"""The table that `nvidia-smi topo -m` printed, as somebody pasted it: whole, or refused with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .matrix import Device, Table

_BEFORE = re.compile(
    r"\s*(?:[>#*]+\s|\d{1,5}[:>]\s|\[?\d{4}-\d\d-\d\d[T ][\d:.,+Z-]{5,30}\]?\s|\[?\d\d:\d\d:\d\d[\d.,]{0,10}\]?\s"
    r"|[\w.-]{1,60}\s{0,20}\|\s|\|\s|\[[\w, .:/-]{1,40}\](?:<\w{1,10}>)?:?\s?)"
)
"""What a mail's quote, a log's clock, docker compose or mpirun puts before each line."""
_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_DEVICE = re.compile(r"GPU\d{1,4}|NIC\d{1,4}|mlx\d_\w{1,20}|[a-z][a-z0-9]{1,15}_\d{1,3}")
_CELL = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|PSB|SOC|NV\d{1,2}")
_TAILS = ("", "CPU Affinity", "CPU Affinity NUMA Affinity", "CPU Affinity NUMA Affinity GPU NUMA ID")
_NIC = re.compile(r"\s*(NIC\d{1,4}):\s*(\S{1,40})\s*")
_MODEL = re.compile(r"GPU (\d{1,4}): (.{1,80}?) \(UUID")
_MOST = 1024


class Garbled(Exception):
    """A text that is not a whole table: one line, with the line's number."""


def parse_table(text: str) -> Table:
    """The table in this text; lines of `nvidia-smi -L` along with it name the GPUs. Raises Garbled."""
    names: list[str] = []
    tail = 0
    rows: dict[str, list[str]] = {}
    nics: dict[str, str] = {}
    models: dict[str, str] = {}
    for number, row in _bare_rows(text):
        cells = row.split()
        if nic := _NIC.fullmatch(row):
            nics[nic[1]] = nic[2]
        elif model := _MODEL.match(row.strip()):
            models[f"GPU{model[1]}"] = model[2]
        elif not cells or not _DEVICE.fullmatch(cells[0]):
            continue
        elif len(cells) == 1 or cells[1] in _HEADS or _DEVICE.fullmatch(cells[1]):
            if names:
                raise Garbled(f"line {number}: a second table begins; paste one table at a time")
            names, tail = _header(cells, number)
        elif names:
            name = cells[0]
            if name not in names or name in rows:
                why = "appears twice" if name in rows else "has no column; columns are cut off"
                raise Garbled(f"line {number}: {name} {why}")
            rows[name] = _row(cells, names, tail, number)
    if not names:
        raise Garbled("this text contains no table from nvidia-smi topo -m (its first line begins with GPU0)")
    lost = [name for name in names if name not in rows]
    if any(name.startswith("GPU") for name in lost):
        raise Garbled(f"the row for {lost[0]} is missing; the text is cut off")
    for name in lost:  # people leave the cards' rows out; their columns say the same
        own = [rows[other][names.index(name)] if other in rows else "" for other in names]
        rows[name] = ["X" if other == name else cell for other, cell in zip(names, own, strict=True)]
    _symmetric(names, rows)
    count = len(names)
    links = tuple(tuple("SYS" if cell == "SOC" else cell for cell in rows[name][:count]) for name in names)
    devices = tuple(
        Device(
            name=name,
            model=models.get(name, ""),
            nic=nics.get(name, "" if name.startswith(("GPU", "NIC")) else name),
            cpu_affinity=rows[name][count] if len(rows[name]) > count else "",
            numa=rows[name][count + 1] if len(rows[name]) > count + 1 else "",
        )
        for name in names
    )
    notes = [] if tail else ["this text lacks the columns for CPU and NUMA affinity"]
    if lost:
        notes.append(f"the rows for {lost[0]}{f' to {lost[-1]}' if len(lost) > 1 else ''} are missing from this text")
    return Table(devices=devices, links=links, notes=tuple(notes))


def rows_of(text: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line."""
    return ((number, row.split()) for number, row in _bare_rows(text))


def _bare_rows(text: str) -> Iterator[tuple[int, str]]:
    """Each line without colors, and without what precedes all rows of a table."""
    for number, raw in enumerate(text.splitlines(), 1):
        row = _ESCAPES.sub("", raw)
        if "GPU" in row or "NIC" in row or "mlx" in row:
            for _ in range(4):
                before = _BEFORE.match(row)
                if before is None:
                    break
                row = row[before.end() :]
        yield number, row.strip("|") if row.rstrip().endswith("|") else row


_HEADS = ("CPU", "NUMA")


def _header(cells: list[str], number: int) -> tuple[list[str], int]:
    """Devices, and how many columns follow theirs."""
    count = next((at for at, cell in enumerate(cells) if not _DEVICE.fullmatch(cell)), len(cells))
    rest = " ".join(cells[count:])
    if rest not in _TAILS:
        raise Garbled(
            f"line {number}: the column headers end in {rest!r}, so they are cut off or belong to a different table"
        )
    if count > _MOST or len(set(cells[:count])) < count:
        raise Garbled(f"line {number}: some of the {count} columns have the same name, or there are too many")
    return cells[:count], _TAILS.index(rest)


def _row(cells: list[str], names: list[str], tail: int, number: int) -> list[str]:
    name, found = cells[0], cells[1:]
    links = found[: len(names)]
    whole = sum(1 for cell in links if _CELL.fullmatch(cell))
    if whole < len(names):
        odd = next((cell for cell in links if not _CELL.fullmatch(cell)), "")
        words = f"; {odd!r} is not a link" if odd and whole + 1 >= len(links) and len(found) > len(names) else ""
        raise Garbled(f"line {number}: {name} has {whole} of {len(names)} links{words or ': columns are cut off'}")
    if (links.index("X") if "X" in links else -1) != names.index(name):
        raise Garbled(f"line {number}: {name}'s X is not in its own column")
    if name.startswith("GPU") and tail and len(found) - len(names) < min(tail, 2):
        raise Garbled(f"line {number}: {name} lacks its CPU or NUMA affinity; columns are cut off")
    return found


def _symmetric(names: list[str], rows: dict[str, list[str]]) -> None:
    for i, one in enumerate(names):
        for j, other in enumerate(names[:i]):
            if rows[one][j] != rows[other][i]:
                raise Garbled(f"{one} to {other} is {rows[one][j]}, but {other} to {one} is {rows[other][i]}")
