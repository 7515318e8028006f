"""One word for one thing in names (CONTRIBUTING, Words), and nothing odd in the texts that a user sees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import strings

from .test_imports import sources, tree

WORDS = frozenset(("asked", "begun", "fits", "fitting", "hardly", "looks", "place", "places", "said", "tell", "told"))
KEPT = {
    ("doctor/snapshot/fact.py", "NOT_ASKED"): "the reason is called so in reports",
    ("doctor/snapshot/cap.py", "place"): "a key of the report",
    ("doctor/checks/looked_at_in_part.py", "place"): "the same",
    ("doctor/probes/caps.py", "place"): "the same",
    ("doctor/checks/gpu_path_not_available.py", "_not_asked"): "whether the reason is not-asked",
    ("compat_matrix/importers/web.py", "tell"): "io's own name",
}
"""(file, name) to why it stays."""
KEY_VALUE_READERS = re.compile(r"doctor/text/(grammar/\w+|answers|clauses|free|keyed|names|prose|terse|values)\.py")
"""Their names are not gone through yet."""


def names(tree: ast.Module) -> Iterator[str]:
    """Every name that a file gives: of functions, classes, arguments, variables, attributes and keywords."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg


def words(name: str) -> set[str]:
    return {part.lower() for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", name)}


def found() -> Iterator[tuple[str, str]]:
    for path in sources():
        file = Path(path).as_posix()
        if KEY_VALUE_READERS.fullmatch(file):
            continue
        if words(path.stem) & WORDS:
            yield file, path.stem
        for name in sorted(set(names(tree(str(path))))):
            if words(name) & WORDS:
                yield file, name


@pytest.mark.slow
def test_no_name_has_a_word_that_named_several_things() -> None:
    used = list(found())
    assert [one for one in used if one not in KEPT] == []
    assert KEPT.keys() <= set(used), "what is kept is still there"


ODD = re.compile(
    r"\b(?:(?:is|are|was|were|been) told\b(?! to)|in words|gives? up|stands? (?:in|there|above|below|here|beside|behind)"
    r"|what it is of|anew|at hand|(?<!\{)beside(?!\})|is heard|comes? to an end|falls? out|speaks? (?:for|against)|the order else"
    r"|cannot be had|remarks?|likeliest|how it shows|brings? its own|is that of|a torch of|knows? (?:this|the) GPU"
    r"|(?:initialis|utilis|recognis|optimis|normalis|serialis|behaviour|neighbour|catalogue|cancell|labell|modell)\w*"
    r"|colour(?!\})|by its (?:bytes|words))\b",
    re.IGNORECASE,
)
"""What a reader of the language marked most often, and British spelling (`benchmarks/strings_read.md`)."""


@pytest.mark.slow
def test_no_text_says_what_nobody_would_say() -> None:
    texts = strings.every()
    assert len(texts) > 7000
    assert [(one.place, found[0]) for one in texts if (found := ODD.search(one.text))] == []
