"""Agents started alone, in each way that a file of the project names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ..rows import for_each

ROOT = Path(__file__).parents[2]
WAY = re.compile(r"-m(?:\",|) \"?(doctor\.patient\.[a-z_]+)")
BY_PATH = re.compile(r"python[\d.]*(?: -[IS])* (?:doctor/patient/)?(\w+)\.py")
FILES = [*ROOT.glob("doctor/patient/*.py"), *ROOT.glob("benchmarks/*.py"), *ROOT.glob("docs/*.md"), *ROOT.glob("*.md")]
TEXTS = {path: path.read_text("utf-8") for path in FILES}
AGENTS = {path.stem for path in ROOT.glob("doctor/patient/*.py")}
NAMED = sorted({name for text in TEXTS.values() for name in WAY.findall(text)} | {"doctor.patient.torch_speed"})


@for_each("module", NAMED)
def test_an_agent_that_a_file_names_starts(module: str) -> None:
    """What it lacks here (arguments, torch, a driver) it says itself."""
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "ImportError" not in done.stderr and "No module named" not in done.stderr, done.stderr


def test_no_file_starts_an_agent_by_its_path() -> None:
    """Its parts are imported from the package: by its path it cannot find them."""
    assert not [(path.name, name) for path, text in TEXTS.items() for name in BY_PATH.findall(text) if name in AGENTS]
    assert len(NAMED) > 5
