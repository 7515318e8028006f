"""What `compare` found, for a terminal."""

from __future__ import annotations

from ..compare.answer import Comparison, Side
from . import compare_words as words
from .lines import BLANK, Line, Span, Style, command, line, wrap
from .terminal import Display

_SIGNS: dict[str, tuple[str, Style]] = {
    "fail": ("✗ ", "fail"), "warn": ("▲ ", "warn"), "pass": ("✓ ", "pass"), "unknown": ("? ", "unknown"),
    "": ("", "bold"),
}  # fmt: skip
_MOST = 15
"""Facts of a group that are listed without -v."""


def compare_text(found: Comparison, how: Display) -> str:
    """The whole answer."""
    width = max(40, min(how.width, 110))
    status, sentence = words.verdict(found)
    sign, style = _SIGNS[status]
    last = wrap(sentence, width, first=Span(sign, style), style="bold")
    if how.quiet:
        return how.written(last)
    rows = [*_side("OLD", found.old, width), *_side("NEW", found.new, width), BLANK]
    for block in words.blocks(found):
        rows += [*_block(block, width, how.verbose), BLANK]
    return how.written([*rows, *last])


def _side(name: str, side: Side, width: int) -> list[Line]:
    return [*wrap(words.head(name, side), width, style="bold"), *wrap(side.machine, width, "     ", style="dim")]


def _block(block: words.Block, width: int, verbose: int) -> list[Line]:
    sign, style = _SIGNS[block.status]
    rows = wrap(block.title, width, first=Span(sign, style), style="bold")
    for text in block.texts:
        rows += wrap(text, width, "  ", hang=4)
    shown = block.facts if verbose else block.facts[:_MOST]
    for fact in shown:
        rows += wrap(words.fact_text(fact), width, "  ", hang=4)
    if len(shown) < len(block.facts):
        rows += wrap(f"and {len(block.facts) - len(shown)} more (-v lists them)", width, "  ", style="dim")
    if block.sheet:
        rows += [line(Span("  "), Span(row)) for row in _cells(block)]
    for back in block.commands:
        rows += [*wrap(f"{back.text}:", width, "  "), *command(back.command, "      ")]
    return rows


def _cells(block: words.Block) -> list[str]:
    sheet = block.sheet
    assert sheet is not None
    rows = [sheet.header, *sheet.rows]
    wide = [max(len(row[at]) for row in rows) for at in range(len(sheet.header))]
    aligned = (
        [
            cell.rjust(w) if at in sheet.numeric else cell.ljust(w)
            for at, (cell, w) in enumerate(zip(row, wide, strict=True))
        ]
        for row in rows
    )
    return ["  ".join(row).rstrip() for row in aligned]
