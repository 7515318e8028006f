"""What `mkdocs build` adds to the written pages: a page for each check and command, and the links to them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from generator import checks, commands, links, llms, options  # noqa: E402

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SEARCH_WORDS: dict[str, str] = tomllib.loads((HERE / "search_words.toml").read_text("utf-8"))


def pages() -> dict[str, str]:
    """Path below this folder to text."""
    return {**checks.pages(), **commands.pages(), **options.pages()}


def on_files(files: Any, config: Any) -> Any:
    """The pages that are no files."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


SHOWN: dict[str, str] = {}
"""Pages that were built, as Markdown."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Each page, as the site shows it."""
    text = SHOWN[page.file.src_uri] = links.for_site(markdown, page.file.src_uri, checks.names())
    if words := search_words(page.file.src_uri, text):
        page.meta["tags"] = words
    if page.file.src_uri.startswith("questions/"):
        page.meta["search"] = {"boost": 2}
    return text


def search_words(path: str, markdown: str) -> list[str]:
    """What finds a page besides its title and text: the symptoms of a check, and what search_words.toml has for it."""
    found = re.findall(r"^Symptoms: (.*?)\n\n", markdown, re.M | re.S)
    found += [words for page, words in SEARCH_WORDS.items() if page == path]
    return [" ".join(words.replace("`", "").split()) for words in found]


def on_post_build(config: Any) -> None:
    """Each page as Markdown too, and their list, for programs that read Markdown rather than HTML."""
    site = Path(config.site_dir)
    for path, text in SHOWN.items():
        (site / path).write_text(text, "utf-8")
    (site / "llms.txt").write_text(llms.text(config.site_name, config.site_description, SHOWN), "utf-8")
