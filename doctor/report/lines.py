"""Lines of styled text: laid out once, then written plain, in ASCII or in color. The words are the same in all."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from .clean import ascii_only, printable

Style: TypeAlias = Literal["", "bold", "dim", "fail", "warn", "unknown", "pass", "command", "title"]


class Span(NamedTuple):
    """Text in one style."""

    text: str
    style: Style = ""


Line: TypeAlias = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """A line that is never broken."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


BLANK: Line = ()


def wrap(
    text: str, width: int, indent: str = "", first: str | Span = "", style: Style = "", hang: int | None = None
) -> list[Line]:
    """Prose broken at blanks to `width` columns.

    `first` stands before it; further lines are indented as deep as the text after it, or to column `hang`.
    """
    lead = first if isinstance(first, Span) else Span(first)
    deep = " " * (len(indent) + len(lead.text) if hang is None else hang)
    rows = _rows(printable(text).split(), max(20, width), len(indent) + len(lead.text), len(deep))
    head = (Span(indent), lead, Span(rows[0], style))
    return [head, *((Span(deep), Span(row, style)) for row in rows[1:])]


def _rows(words: list[str], width: int, first: int, deep: int) -> list[str]:
    """Words in rows of at most `width` with the text before them; a longer word gets its own row."""
    rows: list[str] = []
    row, room = "", width - first
    for word in words:
        if row and len(row) + 1 + len(word) > room:
            rows.append(row)
            row, room = word, width - deep
        else:
            row = f"{row} {word}" if row else word
    return [*rows, row]


def command(text: str, indent: str) -> list[Line]:
    """Lines to copy: each on its own line as it is, never broken, with nothing but blanks next to it."""
    rows = printable(text, keep_lines=True).strip("\n").split("\n")
    return [(Span(indent), Span(row.rstrip(), "command")) for row in rows]


def plain(lines: list[Line], ascii_: bool = False) -> str:
    """The text without styles."""
    text = "".join("".join(span.text for span in row).rstrip() + "\n" for row in lines)
    return ascii_only(text) if ascii_ else text


def coloured(lines: list[Line], ascii_: bool = False) -> str:
    """The text with terminal colours, as many as the terminal has."""
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    styles = {
        "fail": "bold red", "warn": "bold yellow", "unknown": "bold magenta", "pass": "green", "command": "cyan",
        "title": "bold", "bold": "bold", "dim": "dim",
    }  # fmt: skip
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=10_000, highlight=False, markup=False, emoji=False)
    for row in lines:
        text = Text()
        for span in row:
            text.append(ascii_only(span.text) if ascii_ else span.text, style=styles.get(span.style, ""))
        text.rstrip()
        console.print(text, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    return out.getvalue()
