"""`benchmarks/mutation.py` on a project of one function: the change that its one test notices, and the one that it does not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
PROJECT = """
[tool.hatch.build.targets.wheel]
packages = ["tiny"]
"""
SOURCE = '''"""A docstring, of which nothing is changed."""


def larger(a: int, b: int = 0) -> str:
    """Nor of this one."""
    if a > b:
        return "more"
    return "less"
'''
# In a child, as most of the commands' tests are.
TEST = """
import subprocess
import sys


def test_larger():
    for a, word in ((2, "more"), (0, "less")):
        code = f"import tiny; print(tiny.larger({a}, 1))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={})
        assert done.stdout.strip() == word


def test_of_another_matter():
    assert True
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "project"
    for name, text in (
        ("pyproject.toml", PROJECT), ("tiny/__init__.py", SOURCE), ("tests/test_tiny.py", TEST), (".gitignore", ".mutation/\n.venv/\n")
    ):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q")
    commit(folder)
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "a commit")


def mutation(folder: Path, *words: str, code: int = 0) -> str:
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-m", "benchmarks.mutation", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.mark.mutation
def test_a_change_that_a_test_notices_and_one_that_it_does_not(project: Path) -> None:
    assert "--collect" in mutation(project, code=2), "what comes first is said"
    assert mutation(project, "--collect") == "2 tests followed, in .mutation\n"
    page = mutation(project, "--count", "40", "--write", "page.txt")
    assert (project / "page.txt").read_text().strip() == page.strip()
    survived = re.findall(r"^survived: tiny/__init__.py:(\d+):\d+ .*?: (.*)  \[1 tests\]$", page, re.M)
    assert ("6", "> b -> >= b") in survived and ("4", "0 -> 1") in survived, (
        "equal numbers are not asked, nor the default"
    )
    assert not [change for _, change in survived if "more" in change or "less" in change or change.startswith("if")]
    caught, missed = map(int, re.search(r"^tiny +(\d+) +(\d+) +0 +0 ", page, re.M).groups())  # type: ignore[union-attr]
    assert caught >= 4 and missed == len(survived)
    assert (project / "tiny/__init__.py").read_text() == SOURCE, "the checkout is left alone"

    # A later change, and the test that is written for it.
    (project / "tiny/__init__.py").write_text(SOURCE.replace("a > b", "a >= b"))
    assert "survived: tiny/__init__.py:6:9 swap op: >= b -> > b" in mutation(project, "--changed-since", "HEAD")
    more = "\n\ndef test_equal():\n    import tiny\n    assert tiny.larger(1, 1) == 'more'\n"
    (project / "tests/test_more.py").write_text(more)
    page = mutation(project, "--changed-since", "HEAD")
    assert "100.0%" in page and "survived:" not in page


@pytest.mark.mutation
def test_what_is_not_changed() -> None:
    from benchmarks.mutants.kinds import changes

    source = '"""Text."""\nfrom a import b\n\n\nclass C(S, frozen=True):\n    """Text."""\n\n    x: "int" = 3\n'
    assert [(one.kind, one.line) for one in changes("a.py", source)] == [("number", 8)]
    changed = changes("a.py", source)[0].make()
    assert changed is not None and (changed.before, changed.after) == ("3", "4")
    kinds = {
        "a or b": {"a and b", "a", "b"},
        "f(a, b)": {"f(b, a)", "pass"},
        "x = a if b else c": {"x = a if (b) and False else c", "x = a if (b) or True else c"},
        "if a: f()": {"if not (a): f()", "if a: f()"},
        "x = f'{a} b'": {"x = f'{a}XX bXX'"},
        "return a": {"return"},
    }
    for text, expected in kinds.items():
        whole = f"def g():\n    {text}\n"
        found = [one.make() for one in changes("a.py", whole)]
        texts = {one.text.splitlines()[1].strip() for one in found if one is not None}
        assert expected - {"if a: f()"} <= texts, text
