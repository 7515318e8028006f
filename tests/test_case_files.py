"""Files of cases: as the command writes them, changed by id, and refused with file and line where they are broken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import case_file

from .rows import for_each

ROOT = Path(__file__).parent.parent
FILES = sorted([*ROOT.glob("benchmarks/cases/*.jsonl"), *ROOT.glob("tests/scenarios/*.jsonl")])
CASES = (
    {"id": "b-10", "text": "two\nlines\u2028é"},
    {"id": "a-2", "text": ""},
    {"id": "b-1", "facts": {"n": [1, 2.5]}},
)


def command(path: Path, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    script = [sys.executable, ROOT / "benchmarks" / "case_file.py", path, *words]
    return subprocess.run(script, input=text, capture_output=True, text=True, encoding="utf-8", check=False)


@for_each("path", FILES)
def test_every_file_is_as_the_command_writes_it(path: Path, tmp_path: Path) -> None:
    cases = case_file.read(path)
    case_file.write(tmp_path / path.name, cases.values())
    assert cases and (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_each_case_is_one_line_in_the_order_of_ids(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    case_file.write(path, CASES)
    assert [*case_file.read(path)] == ["a-2", "b-1", "b-10"]
    assert path.read_bytes().count(b"\n") == 3 and case_file.read(path)["b-10"] == CASES[0]


def test_a_case_is_shown_changed_added_and_dropped_and_nothing_else_moves(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    case_file.write(path, CASES)
    before = path.read_text("utf-8").split("\n")
    shown = command(path, "show", "b-10", "a-2").stdout
    assert command(path, "put", text=shown).stdout == "changed b-10\nchanged a-2\n"
    assert path.read_text("utf-8").split("\n") == before
    given = tmp_path / "new.json"
    given.write_text(json.dumps({"id": "a-3"}), "utf-8")
    assert command(path, "put", str(given)).stdout == "added a-3\n"
    assert path.read_text("utf-8").split("\n") == [before[0], '{"id": "a-3"}', *before[1:]]
    assert command(path, "drop", "a-3").stdout == "dropped a-3\n"
    assert path.read_text("utf-8").split("\n") == before


@pytest.mark.parametrize(
    ("content", "words", "given", "said"),
    [
        ('{"id": "a"}\n{"id": "a"}\n', ("show", "a"), "", "cases.jsonl:2: a comes after a: sort by id, each id once\n"),
        ('{"id": "b"}\n{"id": "a"}\n', ("show", "a"), "", "cases.jsonl:2: a comes after b: sort by id, each id once\n"),
        ('{"id": "a"}\n<<<<<<< HEAD\n', ("show", "a"), "", "cases.jsonl:2: not JSON: Expecting value: line 1 column 1"),
        ('{"id": "a"}\n{"id": ', ("show", "a"), "", "cases.jsonl:2: not JSON: Expecting value: line 1 column 8"),
        ('{"name": "a"}\n', ("show", "a"), "", "cases.jsonl:1: not a JSON object with an id\n"),
        ('{"id": "a"}\n', ("show", "b"), "", "cases.jsonl: no case b\n"),
        ('{"id": "a"}\n', ("drop", "b", "c"), "", "cases.jsonl: no case b, c\n"),
        ('{"id": "a"}\n', ("put",), '{"id": "b"} {"id": 3}', "-: not a JSON object with an id\n"),
        ('{"id": "a"}\n', ("put",), '{"id": "b"', "-: not JSON: "),
        ('{"id": "a"}\n', ("put", "no-such-file"), "", "No such file"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_changes_nothing(
    tmp_path: Path, content: str, words: tuple[str, ...], given: str, said: str
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(content, "utf-8")
    done = command(path, *words, text=given)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and said in done.stderr
    assert path.read_text("utf-8") == content
