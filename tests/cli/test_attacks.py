"""A few attacks of each class of `benchmarks/attacks.py`, and that its judge notices what has not survived."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from attack.engine import Attack, carry_out  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, limits and devices of Linux")


@pytest.mark.slow
def test_a_sample_of_each_class_survives() -> None:
    script = [sys.executable, ROOT / "benchmarks" / "attacks.py", "--sample", "3", "--workers", "2"]
    # Ends a run that hangs: whether an attack is over in time, the run judges for each.
    done = subprocess.run(script, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == 17 and all("| 3 | 3 |" in row for row in rows), done.stdout


@pytest.mark.slow
def test_the_judge_notices(tmp_path: Path) -> None:
    """Each rule of survival broken once, by a shell in place of the command."""
    cases = {
        "exit 5": Attack("code", ["check"], shell="echo report; exit 5"),
        "Traceback": Attack("traceback", ["check"], shell="echo 'Traceback (most recent call last):' >&2; exit 1"),
        "internal error": Attack("error", ["check"], shell="echo 'gpudoctor: internal error: x' >&2; exit 2"),
        "one line on stderr": Attack("lines", ["check"], shell="printf 'a\\nb\\n' >&2; exit 2"),
        "without a report": Attack("nothing", ["check"], shell="exit 1"),
        "no JSON": Attack("json", ["check", "--format", "json"], shell="echo '{'"),
        "the character '\\x1b'": Attack("escape", ["check"], shell="printf 'a\\033[31m\\n'"),
        "the character '\\u202e'": Attack("bidi", ["check"], shell="printf 'a\\u202e\\n'"),
        "a healthcheck is one line": Attack("health", ["healthcheck"], report=False, shell="printf 'OK\\nOK\\n'"),
        "no end within": Attack("hang", ["check"], shell="sleep 30", deadline_s=0.3),
        "still running": Attack("left", ["check"], shell="echo report; setsid sleep 30 >&- 2>&- & sleep 0.5"),
        "executed": Attack("trap", ["check"], shell="echo report; echo ran > $TRAP"),
        "lost": Attack("after", ["check"], shell="echo report", after=lambda attack: "lost"),
    }
    missed = []
    for number, (words, attack) in enumerate(cases.items()):
        faults = carry_out(attack, tmp_path, number)
        if not any(words in fault for fault in faults):
            missed.append((words, faults))
    assert not missed
    assert carry_out(Attack("sound", ["check"], shell="echo report"), tmp_path, 99) == []
