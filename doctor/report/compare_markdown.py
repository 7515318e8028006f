"""What `compare` found, as Markdown for a ticket."""

from __future__ import annotations

from ..compare.answer import Comparison
from . import compare_words as words
from .markdown import escape, fenced, sheet_rows


def compare_markdown(found: Comparison) -> str:
    """The whole answer."""
    rows = [f"### gpudoctor compare: {escape(words.verdict(found)[1])}", ""]
    for name, side in (("OLD", found.old), ("NEW", found.new)):
        rows += [f"- **{escape(words.head(name, side))}**: {escape(side.machine)}"]
    rows.append("")
    for block in words.blocks(found):
        rows += [f"#### {escape(block.title)}", ""]
        rows += [f"  - {escape(text[2:])}" if text.startswith("- ") else f"- {escape(text)}" for text in block.texts]
        rows += [""] if block.texts else []
        rows += sheet_rows(words.fact_sheet(block.facts)) if block.facts else []
        rows += sheet_rows(block.sheet) if block.sheet else []
        for back in block.commands:
            rows += [f"{escape(back.text)}:", "", *fenced(back.command), ""]
    masked = "masked by gpudoctor" if found.redacted else "not masked"
    rows.append(
        f"<sub>gpudoctor {escape(found.tool.version)}, matrix {escape(found.matrix)}; names, addresses and UUIDs are "
        f"{masked}.</sub>"
    )
    return "\n".join(rows) + "\n"
