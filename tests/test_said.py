"""The tables of what checks say: a test that hears something else is told of it, and nothing old stays in them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import said
from .healthy import healthy
from .judging import report
from .sickness import gvisor, not_loaded

SICK = not_loaded(healthy())


def written(folder: Path) -> said.Tables:
    """The tables of one test that judged the sick machine."""
    with said.hearing() as heard:
        report(SICK)
    assert heard
    said.Tables(folder).write({"test_one": heard}, whole=True)
    return said.Tables(folder)


def test_other_words_another_order_and_an_unwritten_test_are_told(tmp_path: Path) -> None:
    tables = written(tmp_path)
    with said.hearing() as heard:
        report(SICK)
    assert tables.fault("test_one", heard) == ""
    for other in ([heard[1], heard[0], *heard[2:]], heard[1:], [*heard, heard[0]]):
        assert "in another order" in tables.fault("test_one", other)
    assert "in another order" in tables.fault("test_two", heard)
    for row in heard:
        other = [one._replace(text=f"{one.text}.") if one == row else one for one in heard]
        assert f"{row.text}." in tables.fault("test_one", other)


def test_what_one_file_adds_leaves_the_rest(tmp_path: Path) -> None:
    tables = written(tmp_path)
    with said.hearing() as heard:
        report(gvisor(healthy()))
    tables.write({"test_two": heard}, whole=False)
    more = said.Tables(tmp_path)
    assert tables.rows < more.rows and more.tests.keys() == {"test_one", "test_two"}
    assert more.fault("test_two", heard) == ""


def test_what_is_constant_about_each_check_stands_there() -> None:
    table = {row for row in said.tables().rows if row.table == "catalogue"}
    assert {*said.catalogue()} == table, "read them, and if they are right: python -m tests.said"


@pytest.mark.slow
def test_nothing_old_stays(tmp_path: Path) -> None:
    """The tables are what the tests say today, no more."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", *said.FOLDERS]
    done = subprocess.run(command, env={**os.environ, said.WRITE: str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    for name in sorted({path.name for folder in (tmp_path, said.HERE) for path in folder.glob("*.txt")}):
        assert (tmp_path / name).read_text("utf-8") == (said.HERE / name).read_text("utf-8"), name


PLACES = ("doctor/checks", "doctor/fixes")
UNSAID = said.HERE / "unsaid.list"
_SPOKEN = re.compile(r"[A-Za-z]{2,}.*[A-Za-z]{2,}", re.DOTALL)
_TO_FILL = re.compile(r"\{\w*\}")
_PATTERNS = ("compile", "lazy", "search", "match", "fullmatch", "sub", "findall", "finditer", "compiled")


def sentences(path: Path) -> Iterator[str]:
    """The texts of two words and more in a file of checks or fixes: no docstrings, no patterns."""
    tree = ast.parse(path.read_text("utf-8"))
    left_out = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _PATTERNS:
            left_out |= {inner for inner in ast.walk(node) if isinstance(inner, ast.expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in left_out and isinstance(node.value, str):
            for part in _TO_FILL.split(" ".join(node.value.split())):
                if " " in part.strip() and _SPOKEN.search(part):
                    yield part.strip()


def test_every_sentence_is_said_somewhere() -> None:
    """Each text of a check or fix stands in a table that a test compares, or in `unsaid.list`, which only gets shorter.

    Add a machine that hears it to `tests/scenarios/facts`, or a test of the check.
    """
    folders = (said.HERE, Path("tests/scenarios/facts"), Path("tests/scenarios/fixes"))
    tables = [path.read_text("utf-8") for folder in folders for path in sorted(folder.glob("*.txt"))]
    heard = " ".join("\n".join(tables).replace("\n       $ ", "\n").split()).replace('\\"', '"').encode()
    never = {
        f"{path.as_posix()}: {text}"
        for place in PLACES
        for path in sorted(Path(place).glob("*.py"))
        for text in sentences(path)
        if text.encode() not in heard
    }
    listed = set(UNSAID.read_text("utf-8").splitlines())
    assert sorted(never - listed) == [], "no table has these"
    assert sorted(listed - never) == [], "these are said now (or gone): delete them from unsaid.list"
