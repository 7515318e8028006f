"""What `mkdocs build` adds to the written pages: a page for each check and command, and the links to them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from generator import checks, commands, links, options  # noqa: E402


def pages() -> dict[str, str]:
    """Path below this folder to text."""
    return {**checks.pages(), **commands.pages(), **options.pages()}


def on_files(files: Any, config: Any) -> Any:
    """The pages that are no files."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Each page, as the site shows it."""
    return links.for_site(markdown, page.file.src_uri, checks.names())
