"""All that the tests of these folders make the checks say, word by word: `LAYER.txt`, `fixes.txt`, `reasons.txt` ...

A test asserts what matters to it; the rest of a title, detail, fact or step stands here, and `comparing` fails the test
whose findings are not written, or are other ones than when they were. `python -m tests.said` runs the folders and writes
the tables again, `python -m tests.said tests/checks/test_x.py` adds what this file's tests say. Read the difference
before you commit it.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from doctor.findings import Finding
from doctor.judge import load_all
from doctor.judge.report import Report

from ..scenarios import fix_tables

HERE = Path(__file__).parent
FOLDERS = ("tests/checks", "tests/fix", "tests/probes", "tests/proof")
WRITE = "GPUDOCTOR_WRITE_SAID"
"""The variable that has the tables written: `all` of them, `more`, or all into the folder that it names."""
_HEAD = "\n## "
_TESTS, _REASONS = "tests", "reasons"
_SHORT = (_TESTS, _REASONS, "ends", "catalogue")
"""Tables of a line for each row."""
_NOW: list[list[Row] | None] = [None]
"""What the running test's checks said; None where nobody compares it."""


class Row(NamedTuple):
    """One finding, one fix, or how a check that was asked alone ended; `table` is the name of its file."""

    table: str
    text: str


def note(report: Report) -> None:
    """What a report says, in its order, and why its checks did not run."""
    if _NOW[0] is None:
        return
    for finding in (*report.findings, *report.remarks):
        _NOW[0].extend(_rows(finding))
    _NOW[0].extend(
        Row(_REASONS, f"{one.id} {one.status} {one.skip}: {one.reason}") for one in report.checks if one.reason
    )


def note_end(check: str, status: str, reason: str, findings: Sequence[Finding]) -> None:
    """What one check says, and how it ended."""
    if _NOW[0] is None:
        return
    for finding in findings:
        _NOW[0].extend(_rows(finding))
    _NOW[0].append(Row("ends", f"{check} {status}: {reason}"))


def _rows(finding: Finding) -> Iterator[Row]:
    head = " ".join(filter(None, (finding.id, finding.status, finding.severity, finding.subject)))
    head += f", caused by {finding.cause}" if finding.cause else ""
    facts = json.dumps(msgspec.to_builtins(finding.facts), ensure_ascii=False)
    fixes = ", ".join(fix.id for fix in finding.fixes)
    lines = [head, finding.title, *fix_tables.indented(finding.detail, "  ")]
    lines += [f"  {facts}"] * bool(finding.facts) + [f"  fixes: {fixes}"] * bool(fixes)
    yield Row(finding.layer, "\n".join(lines))
    for fix in finding.fixes:
        steps = fix_tables.of_fix(msgspec.to_builtins(fix), changes=False)
        yield Row("fixes", "\n".join([*steps, *[f"    source: {fix.source}"] * bool(fix.source)]).strip())


def catalogue() -> list[Row]:
    """What is constant about each check."""
    found = []
    for check in load_all():
        about = msgspec.to_builtins(check.about)
        found.append(Row("catalogue", f"{check.id}: {json.dumps({k: about[k] for k in about if k != 'module'})}"))
    return found


class Tables:
    """The tables of a folder: the rows, and of each test a digest of what its checks said, in order."""

    def __init__(self, folder: Path = HERE) -> None:
        self.folder = folder
        self.rows = {Row(path.stem, text) for path in folder.glob("*.txt") for text in _read(path)}
        self.tests = dict(row.text.rsplit(" ", 1) for row in self.rows if row.table == _TESTS)
        self.rows = {row for row in self.rows if row.table != _TESTS}

    def fault(self, test: str, heard: Sequence[Row]) -> str:
        """How what a test heard differs from what is written; empty where it does not."""
        new = [row for row in dict.fromkeys(heard) if row not in self.rows]
        if new:
            shown = "\n\n".join(f"{row.table}: {row.text}" for row in new[:4])
            return f"{len(new)} rows are not in {self.folder}; {_HOW}\n{shown}"
        if heard and self.tests.get(test) != digest(heard):
            shown = "\n".join(row.text.partition("\n")[0] for row in heard[:20])
            return f"other findings than when {self.folder} was written, or in another order; {_HOW}\n{shown}"
        return ""

    def write(self, heard: dict[str, list[Row]], whole: bool, folder: Path | None = None) -> None:
        """Write what these tests heard: `whole` in place of all that was there; or into another folder."""
        folder = folder or self.folder
        rows = {row for rows in heard.values() for row in rows} | {*catalogue()} | (set() if whole else self.rows)
        tests = ({} if whole else self.tests) | {test: digest(rows) for test, rows in heard.items() if rows}
        rows |= {Row(_TESTS, f"{test} {number}") for test, number in tests.items()}
        tables = defaultdict(list)
        for row in sorted(rows):
            tables[row.table].append(row.text)
        folder.mkdir(exist_ok=True)
        for path in folder.glob("*.txt"):
            path.unlink()
        for name, texts in tables.items():
            between = "\n" if name in _SHORT else _HEAD
            (folder / f"{name}.txt").write_text("".join(f"{between}{text}" for text in texts) + "\n", "utf-8")


_HOW = "read them, and if they are right: python -m tests.said"


def digest(rows: Sequence[Row]) -> str:
    """Of all rows but the reasons: every check has one in every report, and a new check would change every digest."""
    return hashlib.sha1("\n\n".join(row.text for row in rows if row.table != _REASONS).encode()).hexdigest()[:12]


def _read(path: Path) -> list[str]:
    text = path.read_text("utf-8").rstrip("\n")
    return text.split("\n" if path.stem in _SHORT else _HEAD)[1:]


@cache
def tables() -> Tables:
    return Tables()


_heard: dict[str, list[Row]] = {}


@contextmanager
def hearing() -> Iterator[list[Row]]:
    """What checks say while this lasts."""
    outer, _NOW[0] = _NOW[0], (heard := [])
    try:
        yield heard
    finally:
        _NOW[0] = outer


@contextmanager
def comparing(test: str, scratch: str = "") -> Iterator[None]:
    """Around a test: when it passed, what its checks said is compared with the tables, or kept.

    `scratch`: the test's own temporary folder.
    """
    with hearing() as said:
        yield
    if scratch:
        said = [row._replace(text=row.text.replace(scratch, "/scratch")) for row in said]
    if WRITE in os.environ:
        _heard[test] = said
    elif fault := tables().fault(test, said):
        raise AssertionError(fault)


def finish() -> None:
    """Write what was heard, where that was asked for."""
    if mode := os.environ.get(WRITE, ""):
        tables().write(_heard, mode != "more", Path(mode) if "/" in mode else None)


def main(arguments: list[str]) -> int:
    mode = "more" if arguments else "all"
    command = [sys.executable, "-m", "pytest", "-n", "0", *(arguments or FOLDERS)]
    return subprocess.run(command, env={**os.environ, WRITE: mode}, check=False).returncode
