"""CI cannot pass by skipping: where a part is said to be here, its skipped tests fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .parts import NEEDS, record
from .rows import quickly

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requires", "exit_code", "words"),
    quickly([("nvcc", 1, "CI requires nvcc"), ("", 0, "skipped"), ("nvcc,magic", 4, "no such marker: magic")], 3),
)
def test_a_skip_fails_where_ci_requires_the_part(requires: str, exit_code: int, words: str) -> None:
    """Tests marked nvcc, on a PATH without nvcc."""
    env = {**os.environ, "PATH": "/nowhere", "GPUDOCTOR_CI_REQUIRES": requires}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-rs",
        "-m",
        "nvcc",
        "tests/formats/test_fatbin.py",
    ]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == exit_code, done.stdout
    assert words in done.stdout + done.stderr
    assert "passed" not in done.stdout


@pytest.mark.slow
def test_a_plain_run_leaves_out_what_needs_a_part_unless_it_is_named() -> None:
    """Two tests of one file: one of them is marked nvcc."""
    file = "tests/formats/test_fatbin.py"
    asked = {name: _collected(*words) for name, words in (("plain", [file]), ("all", [file, "--everything"]))}
    (marked,) = _collected(file, "-m", "nvcc")
    assert marked in asked["all"] and len(asked["plain"]) > 2 and asked["plain"] == asked["all"] - {marked}
    assert _collected(marked) == {marked}


def _collected(*words: str) -> set[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-o",
        "addopts=",
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        *words,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_the_page_of_parts_keeps_what_did_not_run(tmp_path: Path) -> None:
    page = tmp_path / "parts.md"
    page.write_text(
        "# Parts\n\n| part | commit |\n| --- | --- |\n| `gpu` | old | then | 3 |\n| `nvcc` | old | then | 4 |\n"
    )
    record(["nvcc=7", "network=50"], "abc", "2026-11-22", page)
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    assert rows == [
        "| `nvcc` | abc | 2026-11-22 | 7 |",
        "| `network` | abc | 2026-11-22 | 50 |",
        "| `gpu` | old | then | 3 |",
    ]
    assert page.read_text().startswith("# Parts\n\n| part |")
    assert {
        line.split("`")[1] for line in (ROOT / "benchmarks/parts.md").read_text().splitlines() if "| `" in line
    } <= set(NEEDS)
