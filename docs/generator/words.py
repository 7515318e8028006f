"""What all made pages share: text as Markdown, and the mark that says what a page is made from."""

from __future__ import annotations

import re

COMMAND = "python docs/generate.py"
LAYER_NAMES = {
    "hardware": "Hardware", "driver": "Kernel driver", "container": "Container", "libraries": "CUDA libraries",
    "python": "Python and torch", "extension": "Extensions", "speed": "Limits and speed",
}  # fmt: skip


def mark(source: str) -> str:
    """The first line of a page."""
    return f"<!-- Made by `{COMMAND}` from {source}: change it there. -->"


def plain(text: str) -> str:
    """Text as it stands: what Markdown would read as tags or emphasis is escaped, code in backticks is left alone."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece[:1] == "`" else re.sub(r"([<*]|__)", r"\\\1", piece) for piece in pieces)


def cell(text: str) -> str:
    """The same inside a table."""
    return plain(text).replace("|", "\\|")


def code(text: str) -> str:
    """Text of a machine in a table's cell."""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")
