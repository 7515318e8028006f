"""Every text that a user can see, each as likely as another: what a reader of the language is given.

    python benchmarks/strings.py --seed 20261201 --count 200

prints number, file with line, and text, between tabs; without --seed all of them. Texts of the product's code (with
`{name}` where something is filled in), of its tables and pages, of the docs, README and CHANGELOG; no code blocks,
patterns, names, or samples of other programs. What a reader marked is in `strings_read.md`.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
CODE = ("doctor", "gpudoctor", "compat_matrix")
NOT_SHOWN = ("doctor/patient/", "compat_matrix/importers/", "doctor/snapshot/mask_", "doctor/formats/")
"""Agents and readers answer in facts and patterns; importers are run by whoever keeps the tables."""
PAGES = ("doctor/checks/", "doctor/commands/")
"""Here a docstring is what a user reads: a check's page, a command's help."""
TOLD = ("means", "fix", "title", "text", "words", "why")
"""Keys of the tables of `explain` that hold sentences."""
MARKDOWN = ("README.md", "CHANGELOG.md", "docs/*.md", "docs/places/*.md")
GENERATED = ("docs/errors.md", "docs/rules.md")
PATTERNS = ("compile", "lazy", "search", "match", "fullmatch", "sub", "findall", "finditer", "getLogger")
_FILLED_IN = re.compile(r"\{[^{}]*\}")
_WORDS = re.compile(r"[A-Za-z']{2,}[,:;]? (?:a |\()?[a-z']{2,}")
_NO_WORDS = re.compile(r"\\[sdwSb]|^(?:select|create|insert|Source:) ", re.IGNORECASE)


class Shown(NamedTuple):
    """A text, and where it is written."""

    place: str
    text: str


def of_code(path: Path) -> Iterator[Shown]:
    """The sentences of a file of the product."""
    name = path.relative_to(ROOT).as_posix()
    tree = ast.parse(path.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    hidden: set[ast.AST] = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in PATTERNS:
            hidden |= set(ast.walk(node))
        elif isinstance(node, ast.JoinedStr):
            hidden |= set(node.values)
    for node in nodes:
        if node in hidden:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _sentences(f"{name}:{node.lineno}", node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else _short(part) for part in node.values]
            yield from _sentences(f"{name}:{node.lineno}", "".join(map(str, parts)))
    if name.startswith(PAGES):
        commands = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]
        for owner in [tree] if name.startswith("doctor/checks/") else commands:
            for part in (ast.get_docstring(owner) or "").split("\n\n"):
                yield from _sentences(name, part)


def _short(part: ast.expr) -> str:
    """What is filled in, where it is a name."""
    name = ast.unparse(part.value if isinstance(part, ast.FormattedValue) else part)
    return f"{{{name if name.isidentifier() else '...'}}}"


def _sentences(place: str, text: str) -> Iterator[Shown]:
    text = " ".join(text.split())
    if _WORDS.search(_FILLED_IN.sub("", text)) and not _NO_WORDS.search(text):
        yield Shown(place, text)


def of_tables(path: Path) -> Iterator[Shown]:
    """The sentences of a TOML file of `explain`."""

    def walk(value: object, key: str) -> Iterator[Shown]:
        if isinstance(value, dict):
            for inner, part in value.items():
                yield from walk(part, inner)
        elif isinstance(value, list):
            for part in value:
                yield from walk(part, key)
        elif isinstance(value, str) and key in TOLD:
            yield from _sentences(path.relative_to(ROOT).as_posix(), value)

    yield from walk(tomllib.loads(path.read_text("utf-8")), "")


def of_prose(path: Path) -> Iterator[Shown]:
    """Paragraphs, list items and headings of a page, without what stands in blocks of code and in tables."""
    name = path.relative_to(ROOT).as_posix()
    inside, paragraph, begun = False, list[str](), 0
    for number, line in enumerate([*path.read_text("utf-8").splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        starts = bool(re.match(r"\s*(?:[-*#|>]|\d+\.)", line))
        if fence or inside or not line.strip() or starts:
            yield from _sentences(f"{name}:{begun}", " ".join(paragraph))
            paragraph.clear()
        inside ^= fence
        if not (fence or inside or line.lstrip().startswith(("|", "<"))) and line.strip():
            begun = begun if paragraph else number
            paragraph.append(line.strip())


def every() -> list[Shown]:
    """All, by file; each text once."""
    code = [path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py"))]
    found = [
        one for path in code if not path.relative_to(ROOT).as_posix().startswith(NOT_SHOWN) for one in of_code(path)
    ]
    for path in sorted((ROOT / "doctor/text").glob("*/*.toml")):
        found += of_tables(path)
    for path in sorted((ROOT / "doctor/text/causes").glob("*.txt")):
        found += of_prose(path)
    pages = [path for pattern in MARKDOWN for path in sorted(ROOT.glob(pattern))]
    found += [one for path in pages if path.relative_to(ROOT).as_posix() not in GENERATED for one in of_prose(path)]
    return list({one.text: one for one in found}.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int, default=200)
    flags = parser.parse_args()
    shown = every()
    if flags.seed is not None:
        shown = random.Random(flags.seed).sample(shown, flags.count)
    for number, one in enumerate(shown, 1):
        print(number, one.place, one.text, sep="\t")


if __name__ == "__main__":
    main()
