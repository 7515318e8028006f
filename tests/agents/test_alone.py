"""Agents started alone, in each way that a file of the project names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ..rows import for_each

ROOT = Path(__file__).parents[2]
WAY = re.compile(r"""-[A-Za-z]*m[\s",']+doctor[./]patient[./]([a-z_]+)""")
BY_PATH = re.compile(r"""(?:python|PYTHON|\bpy\b)[\w.}"]*(?: -[a-zA-Z]+)* "?(?:[\w$"{}/.]*doctor/patient/)?(\w+)\.py""")
FILES = sorted(
    path
    for folder, kinds in (
        (".", ("*.md", "*.sh", "Dockerfile", "*.toml", "*.yml", "*.yaml")),
        (".ci", ("*",)),
        ("docs", ("*.md", "*.py", "*.sh")),
        *((name, ("**/*.py", "**/*.sh", "**/*.md")) for name in ("benchmarks", "doctor", "scripts", "training")),
        ("tests", ("**/*.sh", "**/*.md")),
    )
    for kind in kinds
    for path in (ROOT / folder).glob(kind)
    if path.is_file()
)
QUOTED = re.compile(r"""["']doctor\.patient\.([a-z_]+)["']""")
TEXTS = {path: path.read_text("utf-8", "replace") for path in FILES}
AGENTS = {path.stem for path in ROOT.glob("doctor/patient/*.py")}
ENTRY = {path.stem for path in ROOT.glob("doctor/patient/*.py") if '__name__ == "__main__"' in TEXTS[path]}
NAMED = sorted(
    {name for text in TEXTS.values() for name in WAY.findall(text)}
    | {name for text in TEXTS.values() for name in QUOTED.findall(text)} & ENTRY
)


@for_each("agent", NAMED)
def test_an_agent_that_a_file_names_starts(agent: str) -> None:
    """What it lacks here (arguments, torch, a driver) it says itself."""
    done = subprocess.run(
        [sys.executable, "-m", f"doctor.patient.{agent}"],
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
    assert len(NAMED) > 5 and "torch_speed" in NAMED


def test_every_file_that_may_name_one_is_read() -> None:
    read = {str(path.relative_to(ROOT)) for path in FILES}
    assert read >= {
        "README.md", "Dockerfile", ".ci/run", "docs/prove.md", "scripts/make_pyz.py", "training/ranker.py",
        "benchmarks/gpu_speed.py", "benchmarks/fresh_machine.sh", "doctor/patient/torch_speed.py",
    }  # fmt: skip


@for_each(
    "line",
    [
        "python doctor/patient/torch_speed.py",
        "    $PYTHON -I doctor/patient/torch_speed.py --level quick",
        "python3.8 torch_speed.py",
        '"$PYTHON" "$ROOT/doctor/patient/torch_speed.py" x',
        "py -u ${HERE}/doctor/patient/torch_speed.py",
    ],
)
def test_a_start_by_its_path_is_found(line: str) -> None:
    assert BY_PATH.findall(line) == ["torch_speed"]


@for_each(
    "line",
    [
        "python -m doctor.patient.torch_speed --device cpu",
        '[sys.executable, "-m", "doctor.patient.torch_speed"]',
        "    $PYTHON -Im doctor.patient.torch_speed",
    ],
)
def test_a_start_by_its_module_is_found(line: str) -> None:
    assert WAY.findall(line) == ["torch_speed"]
