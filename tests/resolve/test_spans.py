"""Where values stand: what is cut out of a text at these offsets is the value that the file's own parser gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.commands.toml import NotToml, loads
from doctor.images.recipes.instructions import Unparsed
from doctor.images.recipes.manifests import nodes
from doctor.resolve.files.toml_spans import Spans
from doctor.resolve.files.yaml_spans import YamlText, plain

from ..rows import Faults
from .test_edited import FORMS

ODD = '''\
a."b.c".'d' = 1 # "x" ]
[ t . "u v" ]   # [no]
s = """one "quoted" \\""" two"""
l = \'\'\'it's ''\'\'\'
when = 1979-05-27 07:32:00
n = [ [1, 2,], [ # ] }
  "]", '}', { a = "#", b.c = [] } ], [] ]
[[t.rows]]
x = { y = { z = -inf } }
[t.rows.inner]
k = true
[[t.rows]]
x."y" = 0x1f
[[t.rows.deep]]
e = ""
'''
REPOSITORY = Path(__file__).parents[2]


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value with its path, tables and arrays too."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from leaves(one, (*path, key))


def check(text: str) -> int:
    """The number of values that were compared."""
    content = loads(text)
    spans, compared = Spans(text), 0
    for path, value in leaves(content):
        if path in spans.values:
            start, end = spans.values[path]
            assert loads(f"x = {text[start:end]}")["x"] == value, path
            assert spans.value(path).number == text[:start].count("\n") + 1
            compared += 1
        else:
            assert isinstance(value, (dict, list)), path  # a table of its own
    assert compared == len(spans.values)
    return compared


def test_toml() -> None:
    assert check(ODD) > 15 and check(ODD.replace("\n", "\r\n")) > 15
    with Faults() as faults:
        for name, text in FORMS:
            if name.endswith(".toml") or name == "Pipfile":
                with faults.of(text):
                    check(text)
                    for length in range(len(text)):
                        try:
                            loads(text[:length])
                        except NotToml:
                            continue
                        check(text[:length])


@pytest.mark.slow
def test_every_toml_file_of_the_repository() -> None:
    files = [path for path in REPOSITORY.glob("**/*.toml") if ".venv" not in path.parts]
    assert len(files) > 20 and sum(check(path.read_text()) for path in files) > 1000


def yaml_texts(value: Any) -> Iterator[YamlText]:
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from yaml_texts(one)
    if isinstance(value, YamlText):
        yield value


def test_yaml() -> None:
    odd = (
        "a: &x\n  - 'it''s'\n  - !!str b  # b\n  - [c, {d: \"e\"}, &y f]\n  - *x\n".replace("  - *x\n", "")
        + "g: >-\n  h\n  i\n"
    )
    read = 0
    for text in (odd, odd.replace("\n", "\r\n"), *(text for name, text in FORMS if name.endswith(".yml"))):
        for length in [*range(0, len(text), 3), len(text)]:
            try:
                root = next(nodes(text[:length], "f"), None)
            except Unparsed:
                continue
            for one in yaml_texts(plain(root, text[:length]) if root else None):
                start, end = one.span.at
                again = plain(next(nodes(text[start:end], "f")), text[start:end]) if start < end else ""
                assert again == one and text[:start].count("\n") + 1 == one.span.number
                read += 1
    assert read > 100
