"""Every row of every table that masking reads has a sample that it decides: without the row the sample fails."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from doctor.snapshot import mask_tokens
from doctor.snapshot.redact import redact

from ..rows import share
from .mask_rows import Sample, TableRow, modules, rows_of, samples, samples_of, without
from .tokens import tokens

ELSEWHERE = {
    "find_lines": "test_pasted draws its rows",
    "find_names": "test_pasted draws its rows",
    "mask_addresses": "test_masks and test_planted",
    "mask_names": "test_masks: signs around names",
    "masks": "test_typed: every kind of mask",
    "mask_uuids": "test_masks, as beginnings of GPUs of one report",
    "name_kinds": "words that are nobody's names; test_pasted counts what is masked too much",
    "redact_fields.COMMANDS": "test_typed: fields of a report",
    "redact_fields.DEVICE_LISTS": "test_masks, as beginnings of GPUs of one report",
    "redact_fields.OURS": "fields of a report",
    "redact_fields.PRODUCTS": "fields of a Snapshot",
    "spans": "what stands around words; test_pasted draws it",
    "translated_keys": "test_pasted draws key_words.json",
    "typed": "commands; test_masks, test_typed",
}
"""Modules and tables that have no samples here, and what tests them."""

_MOST_WORDS = 4


def tables() -> list[str]:
    names = (module.__name__.rpartition(".")[2] for module in modules())
    return sorted(name for name in names if name not in ELSEWHERE)


@pytest.mark.parametrize("module", tables())
def test_each_row_decides_a_sample(module: str) -> None:
    rows, lines = all_rows(module), samples_of(module)
    assert set(lines) <= {row.table for row in rows}, f"rows/{module}.txt has samples of tables that are not there"
    of_table = {table: _samples(table, of_table, rows) for table, of_table in lines.items()}
    assert [(one.text, one.fails()) for found in of_table.values() for one in found if one.fails()] == []
    dead = [f"{row.table}: {row.row}" for row in rows if not decides(row, of_table.get(row.table, []))]
    assert dead == [], "no sample fails without these rows: add one to rows/, or delete the row"


def test_what_has_no_samples_is_there() -> None:
    there = {f"{row.module}.{row.table}" for module in modules() for row in rows_of(module)}
    assert set(ELSEWHERE) <= there | {name.partition(".")[0] for name in there}


def test_no_table_is_inside_a_function() -> None:
    inside = [
        (module.__name__, node.lineno)
        for module in modules()
        for part in ast.parse(Path(str(module.__file__)).read_text("utf-8")).body
        if isinstance(part, (ast.FunctionDef, ast.ClassDef))
        for node in ast.walk(part)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and sum(map(_is_word, node.elts)) >= _MOST_WORDS
    ]
    assert inside == [], "a table that a function holds has no samples: give it a name"


def _is_word(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 2


@pytest.mark.parametrize("part", range(4))
def test_each_beginning_of_a_token_decides_one(part: int) -> None:
    formats = json.loads((Path(mask_tokens.__file__).parent / "token_formats.json").read_text("utf-8"))["formats"]
    dead = []
    for row in share(formats, part, 4):
        made = list(tokens(row["pattern"]))
        for lead in (*row.get("prefixes", ()), *row.get("find", ())):
            found = [f"got {text} back" for text in _begun(row, lead, made)]
            wrong = [text for text in found if text == redact(text)]
            with without_format(lead, row["pattern"]):
                if wrong or all(text != redact(text) for text in found):
                    dead.append((row["id"], lead, wrong))
    assert dead == [], "no token leaks without these, or one that leaks with them: delete the row, or repair it"


def _begun(row: dict[str, Any], lead: str, made: list[str]) -> list[str]:
    """The tokens that the row finds by this text, with what stands before them."""
    if "(?i)" in row["pattern"]:
        return [re.sub(re.escape(lead), lead, text, flags=re.IGNORECASE) for text in made]
    if "(?<=" in row["pattern"]:
        return [text if lead in text else f"{lead}{text}" for text in made]
    return [text for text in made if text.startswith(lead) or lead in row.get("find", ())]


@contextmanager
def without_format(lead: str, pattern: str) -> Iterator[None]:
    """While this lasts, the formats are read without this beginning."""
    whole = mask_tokens._formats
    beginnings, parts = whole()
    less = {two: [row for row in rows if row != (lead, pattern)] for two, rows in beginnings.items()}
    mask_tokens._formats = lambda: (less, tuple(part for part in parts if part[1:] != (lead, pattern)))  # type: ignore[assignment]
    try:
        yield
    finally:
        mask_tokens._formats = whole


def all_rows(module: str) -> list[TableRow]:
    rows = [row for m in modules() if m.__name__.endswith(f".{module}") for row in rows_of(m)]
    return [row for row in rows if f"{module}.{row.table}" not in ELSEWHERE]


def _samples(table: str, lines: list[str], rows: list[TableRow]) -> list[Sample]:
    whole = [row.row for row in rows if row.table == table and row.whole]
    return [one for line in lines for one in samples(line, whole)]


def decides(row: TableRow, found: list[Sample]) -> bool:
    """Whether some sample fails without the row; those that have its words first."""
    words = re.findall(r"\w{2,}", row.row.lower())
    ordered = sorted(found, key=lambda one: -sum(len(word) for word in words if word in one.text.lower()))
    with without(row):
        return any(one.fails() for one in ordered)
