"""CI cannot pass by skipping: where a part is said to be here, its skipped tests fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("requires", "exit_code", "words"),
    [("", 0, "skipped"), ("nvcc", 1, "CI requires nvcc"), ("nvcc,magic", 4, "no such marker: magic")],
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
