"""What `compare` found, as one HTML page."""

from __future__ import annotations

from ..compare.answer import Comparison
from . import compare_words as words
from .measured_sheets import Sheet
from .page import rendered
from .page_plain import part, plain


def compare_page(found: Comparison) -> str:
    """The whole page, as text."""
    head = [
        (name, words.head("", side).strip(), side.machine) for name, side in (("OLD", found.old), ("NEW", found.new))
    ]
    parts = [part(sheets=[Sheet("", ("", "from", "machine"), head)])]
    for block in words.blocks(found):
        texts = [*block.texts, *(f"{back.text}:" for back in block.commands)]
        parts.append(part(block.title, texts, commands=[back.command for back in block.commands]))
        sheets = [words.fact_sheet(block.facts)] if block.facts else []
        sheets += [block.sheet] if block.sheet else []
        parts += [part(sheets=sheets)] if sheets else []
    return rendered("gpudoctor compare", plain=plain("What changed from OLD to NEW", words.verdict(found)[1], parts))
