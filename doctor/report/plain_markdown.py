"""Answers that are sections of sentences, tables and commands (page_plain), as Markdown."""

from __future__ import annotations

from typing import Any

from .markdown import escape, fenced, sheet_rows


def plain_markdown(document: dict[str, Any]) -> str:
    """The same sections as the page has, without pictures."""
    rows = [f"### {escape(document['heading'])}", "", f"**{escape(document['verdict'])}**", ""]
    for part in document["parts"]:
        rows += [f"#### {escape(part['title'])}", ""] if part["title"] else []
        for sheet in part["sheets"]:
            rows += [f"**{escape(sheet.title)}**", ""] if sheet.title else []
            rows += sheet_rows(sheet)
        for text in part["texts"]:
            rows += [escape(text), ""]
        for command in part["commands"]:
            rows += [*fenced(command), ""]
        rows += [*fenced(part["pre"], "text"), ""] if part["pre"] else []
    return "\n".join(rows)
