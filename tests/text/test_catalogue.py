"""The catalogue of messages as people write it: every row hits what it is for, and the built file is the rows."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from doctor.commands.local_names import local_names
from doctor.snapshot.redact import Redactor
from doctor.text import read
from doctor.text.clean import lines_of
from doctor.text.messages import catalogue
from doctor.text.search import Haystack
from doctor.text.text import heard
from doctor.text.words import Words

from ..rows import quickly, share

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("catalogue_builder", ROOT / "training" / "catalogue.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def faults(builder: ModuleType, folder: Path) -> list[str]:
    return list(builder.faults(builder.rows(folder), set(builder.topics()), builder.known_checks()))


def test_rows_have_no_fault_and_the_built_file_is_fresh(builder: ModuleType) -> None:
    assert faults(builder, builder.TABLES) == []
    for path, text in builder.files(builder.rows()).items():
        assert path.read_text("utf-8") == text, "run training/catalogue.py"
    assert [message.id for message in catalogue()] == [row.id for row in builder.rows()]


@pytest.mark.parametrize("part", quickly(range(15), 15))
def test_every_row_hits_what_it_is_for_and_nothing_that_it_is_not_for(builder: ModuleType, part: int) -> None:
    wrong, masks = [], Redactor(local_names())
    for row in share(builder.rows(), part, 15):
        for key, wanted in (("says", True), ("not", False)):
            for text, _ in row.examples(key):
                for form in dict.fromkeys((text, masks.pasted(text))):  # `explain` reads what its masks have left
                    if (row.id in {symptom.id for symptom in read(form).symptoms}) is not wanted:
                        wrong.append(f"{row.file.name}:{row.line}: [{row.id}] {key}: {form!r}")
    assert not wrong, "\n".join(wrong)


def test_forms_of_sentences_read_what_they_are_for(builder: ModuleType) -> None:
    wrong = []
    for row in builder.grammar()["sentence"]:
        match = re.fullmatch if row["in"] == "fragment" else re.search
        if not match(row["pattern"], row["says"], re.I) or row.get("find", "") not in row["says"].lower():
            wrong.append(f"pattern: {row['says']!r}")
        if not heard(f"torch, {row['says']}" if row["in"] == "fragment" else row["says"])[2]:
            wrong.append(f"nothing is read from {row['says']!r}")
    assert not wrong, "\n".join(wrong)


def test_rows_of_the_small_tables_hit_what_they_are_for(builder: ModuleType) -> None:
    tables = dict(builder.small_tables())
    wrong = []
    for row in (*tables["shapes.json"], *tables["marks.json"]):
        for example in row["says"]:
            lines = lines_of(example if isinstance(example, str) else example[0])
            haystack = Haystack(lines, Words(lines))
            found = [line.text for line, _ in haystack.lines_with(tuple(row["find"]), row.get("pattern", ""))]
            unless = row.get("unless")
            if not [text for text in found if not (unless and re.search(unless, text, re.I))]:
                wrong.append(f"{row.get('tool', row.get('path'))}: {example!r}")
    assert not wrong, "\n".join(wrong)
    codes = [code for row in tables["xids.json"] for code in row["codes"]]
    assert len(codes) == len(set(codes))
    assert {row["severity"] for row in tables["xids.json"]} == {"critical", "warning", "info"}


def test_topics_are_those_that_readers_tell(builder: ModuleType) -> None:
    """Each word of a topic stands in the readers or the table of marks, and the other way round."""
    wing = ROOT / "doctor" / "text"
    told = set()
    for path in (*wing.glob("*.py"), wing / "marks.json"):
        told |= set(re.findall(r"\"(raised\.[a-z-]+)\"", path.read_text("utf-8")))
    assert told == {topic for topic in builder.topics() if topic.startswith("raised.")}


GOOD = """\
[a-row]
find = ['nothing works']
pattern = 'nothing (\\w+)'
means = 'it fails'
fix = 'Start it again.'
source = 'a page'
says = ['nothing works']
"""
BAD = {
    "decides = 'no-such-check'": "8: [a-row] decides: there is no check 'no-such-check'",
    "decides = [{ check = 'cpu-only-torch', when = { all = ['nobody'] } }]": "8: [a-row] decides: all: nothing is called 'nobody'",
    "hints = [{ check = 'cpu-only-torch', when = { none = ['cpu-only-torch'] } }]": "8: [a-row] hints: none: nothing is called 'cpu-only-torch'",
    "hints = [{ check = 'cpu-only-torch', when = { sayd = ['a-row'] } }]": "8: [a-row] hints: sayd: there is no such operator",
    "hints = [{ check = 'cpu-only-torch', when = { gpus-at-least = '8' } }]": "8: [a-row] hints: gpus-at-least: a whole number is expected",
    "hints = [{ check = 'cpu-only-torch', when = { 'torch.cudda' = '12' } }]": "8: [a-row] hints: torch.cudda: the Snapshot has no fact 'torch.cudda'",
    "hints = [{ check = 'cpu-only-torch', when = { 'torch.cuda =<' = '12' } }]": "8: [a-row] hints: torch.cuda =<: there is no operator '=<'",
    "compare = 'smaller'": "8: [a-row] compare: there is no operator 'smaller'",
    "compare = 'differ'": "8: [a-row] compare: differ needs more groups than the pattern's 1",
    "proves = { 'torch.cuda' = '$2:cuda' }": "8: [a-row] proves: torch.cuda: '$2:cuda' is no group of the pattern with a known kind",
    "where = 'moon'": "8: [a-row] where: 'moon' is no place",
    "wher = 'host'": "8: [a-row] there is no key 'wher'",
}


def test_a_fault_is_told_with_its_file_and_line(builder: ModuleType, tmp_path: Path) -> None:
    found = {}
    for row in ("", *BAD):
        (tmp_path / "rows.toml").write_text(f"{GOOD}{row}\n", "utf-8")
        found[row] = faults(builder, tmp_path)
    assert found == {"": [], **{row: [f"rows.toml:{told}"] for row, told in BAD.items()}}


def test_an_underscore_in_a_pattern_of_peoples_words_is_a_fault(builder: ModuleType, tmp_path: Path) -> None:
    """Their lines are read with blanks in its place; in a set it may stand beside the blank."""
    for pattern, wrong in (("no_such", True), ("no[ _]such", False)):
        row = GOOD.replace("'nothing (\\w+)'", f"'{pattern}'") + "words = true\n"
        (tmp_path / "rows.toml").write_text(row, "utf-8")
        assert pattern in row and bool(faults(builder, tmp_path)) is wrong


def test_a_pattern_in_several_lines_is_put_together(builder: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "rows.toml").write_text("[a-row]\npattern = '''\n  one\n    |two (?:a\n      |b)\n'''\n", "utf-8")
    (row,) = builder.rows(tmp_path)
    assert row.expression == "one|two (?:a|b)" and row.line == 1
