"""The tables of what checks say: a test that hears something else is told of it, and nothing old stays in them."""

from __future__ import annotations

import os
import subprocess
import sys
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
