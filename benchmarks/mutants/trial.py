"""Plant one change in a copy and let its tests judge it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .checkout import environment, isolation, python_of
from .covering import Covering
from .kinds import Mutant

START_S, SLOWER = 60, 4
"""Deadline of a run: these seconds, and so many times what its tests took when they were followed."""
SUITE_S = 1800


class Outcome(NamedTuple):
    """`caught`, `survived`, `timed out` or `no test`; how many tests ran at most, and the one that failed."""

    name: str
    tests: int
    by: str = ""


class Trial:
    """One copy of the checkout."""

    def __init__(self, copy: Path, covering: Covering) -> None:
        self.copy, self.covering = copy, covering
        self._sound: dict[tuple[str, ...], bool] = {}
        self._collected: dict[str, list[str]] = {}

    def outcome(self, one: Mutant, seconds: float, whole: bool) -> Outcome:
        """Run the tests of the line, those that tell most first, for about `seconds`; `whole`: then all quick tests."""
        first = self.covering.chosen(one.path, one.line, seconds)
        spent = sum(self.covering.seconds[test] for test in first)
        result = self._judged(one, [*first, *self._new_tests(one.path, first)], spent)
        if result.name in ("survived", "no test") and whole:
            result = self._judged(one, ["tests"], SUITE_S)
        return result

    def _new_tests(self, path: str, near: list[str]) -> list[str]:
        """Tests of files that were written or changed since: those in the folders of these tests, and those that name
        the changed file's module."""
        folders = {test.partition("::")[0].rpartition("/")[0] for test in near}
        stem = path.rpartition("/")[2].removesuffix(".py")
        files = [
            name
            for name in self.covering.new_tests
            if not near or name.rpartition("/")[0] in folders or stem in (self.copy / name).read_text("utf-8")
        ]
        return [test for name in files for test in self._tests_of(name)]

    def _tests_of(self, name: str) -> list[str]:
        if name not in self._collected:
            done = self._pytest(["--collect-only", "-q"], [name])
            output = done.communicate()[0]
            self._collected[name] = [line for line in output.splitlines() if line.startswith(f"{name}::")]
        return self._collected[name]

    def _judged(self, one: Mutant, tests: list[str], seconds: float) -> Outcome:
        left = list(dict.fromkeys(tests))
        path = self.copy / one.path
        sound = path.read_bytes()
        while left:
            path.write_text(one.text, "utf-8")
            try:
                code, failed = self._run(left, seconds)
            finally:
                path.write_bytes(sound)
            if code is None:
                return Outcome("timed out", len(left))
            if code == 0:
                return Outcome("survived", len(left))
            by = failed[0] if failed else ""
            if self._is_sound(*([by] if by else left)):
                return Outcome("caught", len(left), by or f"pytest ended with {code}")
            broken = failed or [test for test in left if not self._is_sound(test)]
            left = [test for test in left if test not in broken]
        return Outcome("no test", 0)

    def _is_sound(self, *tests: str) -> bool:
        """Whether tests pass without the change."""
        if tests not in self._sound:
            self._sound[tests] = self._run(tests, SUITE_S)[0] == 0
        return self._sound[tests]

    def _run(self, tests: Sequence[str], seconds: float) -> tuple[int | None, list[str]]:
        """pytest's exit code, None past the deadline, and the tests that failed."""
        child = self._pytest(["-x", "-q", "--tb=no", "-rfE"], tests)
        try:
            output, _ = child.communicate(timeout=START_S + SLOWER * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return None, []
        gone = re.findall(r"^ERROR: not found: (\S.*)$", output, re.M)
        failed = re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", output, re.M)
        return child.returncode, [test.removeprefix(f"{self.copy}/") for test in gone] or failed

    def _pytest(self, options: list[str], tests: Sequence[str]) -> subprocess.Popen[str]:
        names = self.copy.parent / f"{self.copy.name}.tests"
        names.write_text("".join(f"{test}\n" for test in tests), "utf-8")
        scratch = self.copy.parent / f"{self.copy.name}.tmp"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        command = [
            python_of(self.copy),
            "-m",
            "pytest",
            "-o",
            "addopts=",
            "-p",
            "no:cacheprovider",
            *options,
            f"@{names}",
        ]
        return subprocess.Popen(
            [*isolation(self.copy.parent), *command],
            cwd=self.copy,
            env=environment(TMPDIR=str(scratch), XDG_CACHE_HOME=str(scratch), COLUMNS="400"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
