"""Tables whose head names what is under it: CSV, Markdown, tabs, and columns that are aligned with blanks.

A head is a line of names of which one tells of secrets, people, machines, serials or telephones; its rows have as many
cells. Rows in a string of JSON are found too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache, partial

from ..formats.lazy import lazy
from .find_keyed_names import HOST_LIKE, NO_HOST, kind_of_name
from .secret_keys import SURE, is_nothing, is_secret_like, kind_of
from .spans import NameSpan, Scan, Span
from .translated_keys import DIAL, kind_of_phrase, phrase_offsets

_STEMS = ("user", "owner", "login", "account", "submitter", "host", "node", "server", "machine", "pass", "pwd",
          "secret", "api", "access", "imei", "wwn", "guid")  # fmt: skip
_LONGEST = 400
"""Characters of a head."""
_CELL = lazy(r"[^\W\d_][\w .%/#-]{0,40}(?:[(\[][^()\[\]]{0,20}[)\]])?")
_WORDS = lazy(r"\S+")
_WIDE = lazy(r"\S+(?: \S+)*")
_CAPITAL = r"[A-Z%#][A-Z0-9%_+#/:.-]*(?:[(\[][A-Z ]{1,20}[)\]])?"
_CAPITALS = lazy(rf"\s*(?:{_CAPITAL}\s+){{2,}}{_CAPITAL}\s*")
_RULE = lazy(r"[\s|:+=-]+")
_NAME = lazy(r"[^\W\d_][\w.@-]{1,80}")
_NODES = lazy(r"([A-Za-z0-9][\w.-]{1,80})(?:\[[\d,-]+\])?")
_MOST_WORDS = 4

Cell = tuple[int, int]
"""Where a cell's text begins and ends in the text."""
Kinds = dict[int, str]
"""Number of a column to what stands in it."""
Split = Callable[[str, int, int], list[Cell]]
"""The cells of a line (text, start, end)."""


def find_columns(scan: Scan) -> list[NameSpan]:
    """Values under a head; the kind is secret, user, host or number."""
    return scan.kept("columns", _find)


def _find(scan: Scan) -> Iterator[NameSpan]:
    text = scan.text
    if "\n" not in text and "\\n" not in text:
        return
    stems = sorted(
        {*phrase_offsets(scan), *(at for stem in _STEMS if scan.may_hold(stem) for at in scan.offsets(stem))}
    )
    if "\\n" not in scan.raw:
        stems = _in_heads(scan, stems)
    rows, at = scan.rows if stems else [], 0
    for stem in stems:
        at = max(at, bisect_right(rows, (stem, len(text))))
        if at >= len(rows) or rows[at - 1][1] < stem:
            continue
        start, end = rows[at - 1]
        if end - start > _LONGEST or _has_value(text, start, end):
            continue
        for split in (*_separated(text, start, end), _aligned):
            head = split(text, start, end)
            kinds = _kinds(text, head)
            if not kinds:
                continue
            last = at
            while last < len(rows) and (found := _values(text, rows[last], split, start, head, kinds)) is not None:
                yield from found
                last += 1
            if last > at:
                at = last
                break


def _in_heads(scan: Scan, stems: list[int]) -> list[int]:
    """One place of each line that may be a head."""
    kept, done = [], -1
    for at in stems:
        if at >= done:
            first, done = scan.line(at, _LONGEST)
            if not _has_value(scan.text, first, done):
                kept.append(at)
    return kept


def _has_value(text: str, start: int, end: int) -> bool:
    """Whether a line has names with values, as no head has."""
    return text.find("=", start, end) >= 0 or text.find(": ", start, end) >= 0


def _separated(text: str, start: int, end: int) -> list[Split]:
    """How a line may be cut at its separators."""
    return [partial(_cut, sign=sign) for sign in "|\t,;" if text.find(sign, start, end) >= 0]


def _cut(text: str, start: int, end: int, sign: str) -> list[Cell]:
    cells = []
    while start <= end:
        stop = text.find(sign, start, end)
        stop = end if stop < 0 else stop
        cells.append(_trimmed(text, start, stop))
        start = stop + 1
    return cells


def _trimmed(text: str, start: int, end: int) -> Cell:
    while start < end and text[start] in " \t\r\"'`*":
        start += 1
    while end > start and text[end - 1] in " \t\r\"'`*":
        end -= 1
    return start, end


def _aligned(text: str, start: int, end: int) -> list[Cell]:
    pattern = _WORDS if _CAPITALS.fullmatch(text, start, end) else _WIDE
    cells = [found.span() for found in pattern.finditer(text, start, end)]
    return cells if len(cells) >= 3 else []


def _kinds(text: str, head: list[Cell]) -> Kinds:
    """The kinds of a head's columns; empty if a line is no head."""
    kinds: Kinds = {}
    for number, (start, end) in enumerate(head):
        cell = text[start:end]
        if not cell:
            continue
        if end - start > 60 or not _CELL.fullmatch(cell) or cell.count(" ") >= _MOST_WORDS:
            return {}
        if kind := _kind(cell):
            kinds[number] = kind
    return kinds if sum(end > start for start, end in head) > 1 else {}


@lru_cache(maxsize=2048)
def _kind(cell: str) -> str:
    name = cell.partition("(")[0].partition("[")[0].strip()
    if kind_of(name) == SURE:
        return "secret" if any(part in name.lower() for part in ("pass", "pwd", "secret")) else "likely"
    return kind_of_phrase(name.lower()) or kind_of_name(name)


def _values(
    text: str, row: Cell, split: Split, at: int, head: list[Cell], kinds: dict[int, str]
) -> list[NameSpan] | None:
    """What a row has in these columns; None if it is no row of this table. `at`: where the head's line begins."""
    start, end = row
    if start == end:
        return None
    if _RULE.fullmatch(text, start, end):
        return []
    found: list[NameSpan] = []
    if split is _aligned:
        words = [word.span() for word in _WORDS.finditer(text, start, end)]
        if len(words) < len(head) - 1:
            return None
        for number, kind in kinds.items():
            first, last = head[number][0] - at + start, head[number][1] - at + start
            under = [word for word in words if word[0] < last and word[1] > first]
            found += _value(text, under[0], kind) if under else []
        return found
    cells = split(text, start, end)
    if len(cells) != len(head):
        return None
    for number, kind in kinds.items():
        found += _value(text, cells[number], kind)
    return found


def _value(text: str, cell: Cell, kind: str) -> list[NameSpan]:
    start, end = cell
    value = text[start:end]
    if kind in ("secret", "likely"):
        wanted = not is_nothing(value) and (kind == "secret" or is_secret_like(value))
        return [NameSpan(start, end, "secret")] if value and wanted else []
    if kind == "phone":
        return [NameSpan(start, end, "secret")] if DIAL.fullmatch(value) else []
    if kind == "user":
        return [NameSpan(start, end, "user")] if _NAME.fullmatch(value) else []
    if kind in ("number", "id"):
        number = len(value) >= 4 and any(c.isdigit() for c in value) and " " not in value
        return [NameSpan(start, end, "number")] if number else []
    nodes = _NODES.fullmatch(value)
    if not nodes or NO_HOST.fullmatch(nodes[1]) or (kind != "host" and not HOST_LIKE.fullmatch(nodes[1])):
        return []
    return [NameSpan(start, start + len(nodes[1]), "host")]


def secret_columns(scan: Scan) -> Iterator[Span]:
    """The secrets among them."""
    return (Span(start, end) for start, end, kind in find_columns(scan) if kind == "secret")
