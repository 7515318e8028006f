"""From pasted bytes to plain lines: removes what mail, Markdown, HTML and terminals put around a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..formats.lazy import lazy
from .excerpt import pieces
from .statement import Line

MAX_BYTES = 50_000_000
"""Readers refuse larger inputs."""
_LONGEST = 2000
"""Characters of a line that are looked at: a line of megabytes is no line of any tool."""
MOST_UNFOLDED = 2000
"""Of a text with more, the layout is that of a log: no JSON, YAML or tables in it."""
_ANSI = lazy(r"\x1b(?:\[[0-9;:?]{0,32}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])")
_TAG = lazy(
    r"</?(?:details|summary|pre|code|br|p|div|span|b|i|em|strong|tt|samp|kbd|li|ul|ol|td|tr)\b[^<>]{0,200}/?>", re.I
)
_CELL_END = lazy(r"</t[dh]>(?=\s{0,8}<t[dh]\b)", re.I)
_QUOTE = lazy(r"(?:\s{0,3}(?:>|&gt;) ?){1,8}")
_CODE = lazy(r"import |from |[a-z_][\w.]{0,60}(?:\(| = )|torch\.")
"""After `>>> `: a Python prompt, not a quoted quotation."""
_NUMBERED = lazy(r"\s{0,8}(\d{1,7})(?::|\s?\||\t|\.\s)\s?")
_BULLET = lazy(r"\s{0,12}(?:[-•+]|\*{1,3}|\d{1,2}[.)])\s{1,3}(?=\S)")
_BULLETS = frozenset("-*•+0123456789")
_PAIR = lazy(r"\s{0,12}\"([A-Za-z][\w .()-]{0,60})\"\s?:\s?\"?([^\"]{0,400})\"?,?")
"""A line of JSON."""
_CELLS = lazy(r"\s{0,4}\|\s{0,8}([A-Za-z][\w .()-]{0,60}?)\s{0,60}\|\s{0,60}([^|]{1,400}?)\s{0,60}\|")
"""A row of a Markdown table of two columns."""
_EQUALS = lazy(r"\s{0,8}([A-Za-z][a-z][\w .()-]{0,60}?) = (?=\S)")
"""`key = value`; variables, which are in capitals, stay as they are."""
_JOURNAL = lazy(
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [\w.:-]{1,64} (?!kernel)[\w.@/:-]{1,80}(?:\[\d{1,9}\])?: "
)
"""syslog's and journalctl's words before a program's line; those of the kernel's log stay."""
_BREAK = lazy(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
"""What HTML can name and no line holds: a line stays one."""
_MONTHS = frozenset(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"))
_STREAM = lazy(
    r"[\w.-]{1,60}[-_]\d{1,4}\s{1,20}\| |\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] )?"
    r"|\[pod/[\w.-]{1,120}/[\w.-]{1,120}\] |\(\w{0,40} ?pid=\d{1,9}(?:, ip=[\d.]{7,15})?\) |\[rank ?\d{1,5}\]: ?"
)
"""docker compose's, containerd's, kubectl's, Ray's and torchrun's words before a line."""
_BOLD = lazy(
    r"(?<!\*)\*{2,3}(?=[^\s*])|(?<=[^\s*])\*{2,3}(?=\s|:|$)"
    r"|(?<!\w)__([A-Z][\w .-]{0,80}?|\w{1,40} [\w .-]{0,80}?:?)__(?!\w)"
)
"""Markdown's bold, in pairs where it is underscores: `__init__` and `__nvJitLinkCreate` are names.

Stars with blanks on both sides are a program's: `make: *** [all] Error 2`.
"""
_MASKED = lazy(r"[=:@/\"' ]\*{3}\s*$")
"""A line that ends with a secret's mask."""

_ODD = {
    "\u00a0": " ", "\u202f": " ", "\u2007": " ", "\u3000": " ", "\u200b": "", "\u2060": "", "\ufeff": "",
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"',
    "\u2013": "-", "\u2212": "-", "\u2011": "-",
    "\uff1a": ": ", "\uff0c": ", ", "\uff08": " (", "\uff09": ") ", "\uff1d": "=", "\u3002": ". ",
    "\u2502": "|", "\u2503": "|", "\u2551": "|",
}  # fmt: skip
"""Blanks, quotes and signs that mail, word processors and East Asian keyboards put in place of the plain ones, and the
upright lines of tables."""


def lines_of(text: str, numbers: Sequence[int] = ()) -> list[Line]:
    """The lines worth reading, cleaned and cut; empty ones are kept out.

    `numbers`: of each line that of the input, where the text is an excerpt; a part of a long text has no layout.
    """
    if not text.isascii():
        for odd, usual in _ODD.items():
            if odd in text:
                text = text.replace(odd, usual)
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    numbered = _is_numbered(rows)
    short = len(rows) <= MOST_UNFOLDED and not numbers
    passes = _passes(text, numbered, short)
    found, plain = [], []
    for number, row in enumerate(rows, 1):
        here = numbers[number - 1] if number <= len(numbers) else number
        whole, row = row, row[:_LONGEST]
        for clean in passes:
            row = clean(row)
        if short and row.strip():
            plain.append(Line(number, row.rstrip()))
        row = _pair(_bullet(row).rstrip())
        if "```" in row:
            row = _unfenced(row)
        if row and not row.startswith("~~~"):
            found.append(Line(here, row))
        if len(whole) > _LONGEST:
            found += [Line(here, piece) for piece in pieces(whole)]
    if short:
        from .grammar.lines import unfold

        there = set(found)
        found += [line for line in unfold(plain, rows) if line not in there]
    return found


def _passes(text: str, numbered: bool, short: bool) -> list[Callable[[str], str]]:
    """The passes over each line of this text, in this order: each takes a line and returns one."""
    every = (
        ("\x1b" in text, _colours),
        (True, _words_of_a_log),
        (numbered, _number),
        (True, _quotation),
        ("<" in text, _tags),
        ("&" in text, _entities),
        (short and ("**" in text or "__" in text), _heading),
        ("**" in text or "__" in text, _bold),
    )
    return [clean for wanted, clean in every if wanted]


def _colours(row: str) -> str:
    return _ANSI.sub("", row) if "\x1b" in row else row


def _words_of_a_log(row: str) -> str:
    if row[:3] in _MONTHS and (prefix := _JOURNAL.match(row)):
        return row[prefix.end() :]
    if (row[:1] in "[(" or " | " in row[:64] or row[4:5] == "-") and (prefix := _STREAM.match(row)):
        return row[prefix.end() :]
    return row


def _number(row: str) -> str:
    return row[prefix.end() :] if (prefix := _NUMBERED.match(row)) else row


def _quotation(row: str) -> str:
    if row[:4].lstrip()[:1] not in (">", "&") or not (quote := _QUOTE.match(row)):
        return row
    at_prompt = quote[0].endswith((">>> ", "&gt;&gt;&gt; ")) and _CODE.match(row, quote.end())
    return (">>> " if at_prompt else "") + row[quote.end() :]


def _tags(row: str) -> str:
    return _TAG.sub("", _CELL_END.sub("\t", row)) if "<" in row else row


def _entities(row: str) -> str:
    if "&" not in row:
        return row
    from html import unescape

    return _BREAK.sub(" ", unescape(row))


def _heading(row: str) -> str:
    """Bold text that is alone on its line is a heading."""
    bare = row.rstrip()
    return f"{bare}:" if bare.endswith(("**", "__")) and not _MASKED.search(row) else row


def _bold(row: str) -> str:
    return _BOLD.sub(_without_stars, row) if "**" in row or "__" in row else row


def _unfenced(row: str) -> str:
    """What stands behind or before a fence in its line; nothing of a fence alone or with its language."""
    inner = row.removeprefix("```").removesuffix("```").strip()
    return inner if " " in inner or not row.startswith("```") else ""


def _bullet(row: str) -> str:
    if row[:13].lstrip()[:1] in _BULLETS and (bullet := _BULLET.match(row)):
        return row[bullet.end() :]
    return row


def _pair(row: str) -> str:
    """A pair of JSON, of a table or of a program's settings as `key: value`."""
    if row[:8].lstrip()[:1] in ('"', "|") and (pair := _PAIR.fullmatch(row) or _CELLS.fullmatch(row)):
        return f"{pair[1]}: {pair[2]}"
    if " = " in row[:64] and (pair := _EQUALS.match(row)):
        return f"{pair[1]}: {row[pair.end() :]}"
    return row


def _without_stars(found: re.Match[str]) -> str:
    """What stands between Markdown's marks; three stars between no letters are the mask of a secret, ours or CI's."""
    row, (start, end) = found.string, found.span()
    if found[0] == "***" and not (row[start - 1 : start].isalnum() and start) and not row[end : end + 1].isalnum():
        return "***"
    return found[1] or ""


def _is_numbered(rows: list[str]) -> bool:
    """Whether the text carries line numbers of its own (cat -n, grep -n): most lines begin with the next number."""
    hits = last = 0
    sample = [row for row in rows[:200] if row.strip()]
    for row in sample:
        found = _NUMBERED.match(row)
        if found and int(found[1]) > last:
            hits, last = hits + 1, int(found[1])
    return len(sample) >= 3 and hits * 10 >= len(sample) * 8
