"""Which tests run a line: collected once from the quick tests, and asked for each change."""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import tomllib
from coverage import CoverageData
from coverage.exceptions import DataError

from .checkout import ROOT, copy_checkout, environment, isolation, python_of
from .following import AGENTS, FOLDER, prepare
from .rows import TABLES

STORE = ROOT / ".mutation"
"""Not in git."""


@cache
def packages() -> tuple[str, ...]:
    """The product's packages, as pyproject.toml names them for the wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return tuple(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def collect(workers: int, arguments: list[str]) -> int:
    """Run the quick tests once in a copy and keep which lines each one runs. Returns how many tests ran."""
    with tempfile.TemporaryDirectory(prefix="gpudoctor-mutation-") as scratch:
        copy, folder = copy_checkout(Path(scratch) / "checkout"), Path(scratch) / "contexts"
        sources = {name: (copy / name).read_text("utf-8") for name in product_files(copy)}
        tests = hashes(copy)
        prepare(copy, folder, packages(), sysconfig.get_path("purelib"))
        command = [python_of(copy), "-m", "pytest", "-p", "follow_tests", "-p", "no:cacheprovider"]
        (Path(scratch) / "tmp").mkdir()
        own = environment(TMPDIR=f"{scratch}/tmp", XDG_CACHE_HOME=f"{scratch}/tmp", **{FOLDER: str(folder)})
        many = ["-n", str(workers), "--dist", "worksteal", "-q", *arguments]
        subprocess.run([*isolation(Path(scratch)), *command, *many], cwd=copy, env=own, stdout=sys.stderr, check=False)
        return keep(copy, folder, sources, tests)


def keep(copy: Path, folder: Path, sources: dict[str, str], tests: dict[str, str]) -> int:
    """Put what the processes noted into one data file and one page beside it."""
    shutil.rmtree(STORE, ignore_errors=True)
    STORE.mkdir()
    whole = CoverageData(str(STORE / "contexts"))
    for noted in sorted((folder / "data").iterdir()):
        part = CoverageData(str(noted))
        try:
            part.read()
        except DataError:  # of a process that was killed while it wrote: some tests do that
            continue
        whole.update(part, map_path=lambda path: _relative(path, copy))
    whole.write()
    seconds: dict[str, float] = {}
    for file in (folder / "seconds").iterdir():
        for line in file.read_text("utf-8").splitlines():
            number, outcome, test = line.split(" ", 2)
            if outcome == "passed":
                seconds[test] = float(number)
    page = {"sources": sources, "tests": tests, "seconds": seconds}
    (STORE / "page.json").write_text(json.dumps(page), "utf-8")
    return len(seconds)


def _relative(path: str, copy: Path) -> str:
    if path.startswith(AGENTS):
        return f"doctor/patient/{path.removeprefix(AGENTS)}"
    return os.path.relpath(path, copy)


def product_files(root: Path = ROOT) -> list[str]:
    files = (file for package in packages() for file in (root / package).rglob("*.py"))
    return sorted(file.relative_to(root).as_posix() for file in files)


def hashes(root: Path = ROOT) -> dict[str, str]:
    """Each test file with a digest of it."""
    files = sorted((root / "tests").rglob("test_*.py"))
    return {file.relative_to(root).as_posix(): hashlib.sha1(file.read_bytes()).hexdigest() for file in files}


class Covering:
    """The tests to run for a change, the most telling first."""

    def __init__(self) -> None:
        """Raises OSError where nothing is collected yet."""
        page: dict[str, Any] = json.loads((STORE / "page.json").read_bytes())
        self.sources: dict[str, str] = page["sources"]
        self.seconds: dict[str, float] = page["seconds"]
        self._data = CoverageData(str(STORE / "contexts"))
        self._data.read()
        old: dict[str, str] = page["tests"]
        self.new_tests = [name for name, digest in hashes().items() if old.get(name) != digest]
        """Test files that are new or changed since: they run whole."""
        self._by_file: dict[str, dict[int, set[str]]] = {}

    def chosen(self, path: str, line: int, seconds: float) -> list[str]:
        """Tests of this line that take so many seconds: half of it those that run little else, which judge what it
        does, then those that run most in their time, which compare whole outputs."""
        tests = self.tests(path, line)
        taken: dict[str, float] = {}
        for most, order in (
            (seconds / 2, tests),
            (seconds, sorted(tests, key=lambda test: self.seconds[test] / self._breadth[test])),
        ):
            for test in order:
                if taken and sum(taken.values()) + self.seconds[test] > most:
                    break
                taken[test] = self.seconds[test]
        return list(taken)

    def tests(self, path: str, line: int) -> list[str]:
        """The tests that ran this line, in their processes too; for what runs at import, those that use what it names.

        The first are those that run little else.
        """
        old = self._line_then(path, line)
        found = self._ran(path, old) if old and not _at_import(self.sources.get(path, ""), old) else set()
        if path in TABLES:
            found = {test for test in self.seconds if test.startswith("tests/matrix/")}
        if not found:
            text = (ROOT / path).read_text("utf-8")
            found = self._named_by(path, text, line) or self._in_file(path)
        return sorted(found, key=lambda test: (self._breadth[test], self.seconds[test], test))

    def _ran(self, path: str, line: int) -> set[str]:
        by_line = self._lines(path)
        before = [number for number in by_line if number <= line and by_line[number]]
        return by_line.get(line) or (by_line[max(before)] if before else set())

    def _in_file(self, path: str) -> set[str]:
        """Tests that run a function of this file, else all that import it."""
        by_line, source = self._lines(path), self.sources.get(path, "")
        inner = {test for line, tests in by_line.items() if not _at_import(source, line) for test in tests}
        return inner or {test for tests in by_line.values() for test in tests}

    def _named_by(self, path: str, text: str, line: int) -> set[str]:
        """Tests that run a line with the name that this line of a module or class gives."""
        names = _given(text, line)
        found: set[str] = set()
        for name in names:
            word = re.compile(rf"\b{re.escape(name)}\b")
            own = path if name.startswith("_") else None
            for file, source in self.sources.items():
                if name not in source or (own and file != own):
                    continue
                for number, words in enumerate(source.splitlines(), 1):
                    if word.search(words) and not _at_import(source, number):
                        found |= self._lines(file).get(number, set())
        return found

    def _lines(self, path: str) -> dict[int, set[str]]:
        if path not in self._by_file:
            noted = self._data.contexts_by_lineno(path) if path in self._data.measured_files() else {}
            self._by_file[path] = {line: self.seconds.keys() & set(tests) for line, tests in noted.items()}
        return self._by_file[path]

    def _line_then(self, path: str, line: int) -> int:
        """The number that this line had when the tests were followed; 0 for a new file. A new line: the one before."""
        was = self.sources.get(path)
        if was is None:
            return 0
        now = (ROOT / path).read_text("utf-8").splitlines()
        best = 0
        for block in difflib.SequenceMatcher(None, was.splitlines(), now, autojunk=False).get_matching_blocks():
            if block.b < line:
                best = block.a + min(line - block.b, block.size)
        return best

    @cached_property
    def _breadth(self) -> dict[str, int]:
        """How many lines of the product each test runs."""
        counted: dict[str, int] = defaultdict(int)
        for path in self._data.measured_files():
            for tests in self._lines(path).values():
                for test in tests:
                    counted[test] += 1
        return counted


@cache
def _functions(source: str) -> list[tuple[int, int]]:
    """First and last line of the body of each function."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [(node.body[0].lineno, node.end_lineno or 0) for node in found]


def _at_import(source: str, line: int) -> bool:
    """Whether a line is outside every function."""
    return not any(first <= line <= last for first, last in _functions(source))


def _given(text: str, line: int) -> set[str]:
    """The names that the statement on this line of a module or class gives: of a constant, a field, a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):  # the outer ones come first
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = {node.name}
    return names
