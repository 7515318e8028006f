"""What the README tells people to type works, and its sample is what is printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .rows import Faults, for_each
from .samples import SAMPLES, pages, printed
from .samples import blocks as shown

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
GUIDES = [path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))]


def blocks(mark: str) -> list[str]:
    """The code blocks of the README, and then of the guides, that follow this mark."""
    return [
        found for text in (README, *GUIDES) for found in re.findall(rf"<!-- {mark} -->\n```\w+\n(.*?)```", text, re.S)
    ]


def examples() -> list[str]:
    lines = [line.split(" #")[0].strip() for block in blocks("run: examples") for line in block.splitlines()]
    return [line for line in lines if line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to type in."""
    return tmp_path


def _run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        line, shell=True, env=env, cwd=folder, capture_output=True, text=True, timeout=150, check=False
    )


JUDGED = tuple(f"gpudoctor {word}" for word in ("check", "fix", "prove", "explain", "what-if"))
NO_GPU_IS_FINE = ("--expect any", "--expect none", "--device cpu")


def without_gpu() -> bool:
    """Whether the PCI bus can be read and holds nothing of NVIDIA."""
    vendors = [path.read_text().strip() for path in Path("/sys/bus/pci/devices").glob("*/vendor")]
    return bool(vendors) and "0x10de" not in vendors


def exit_code(line: str, said: str) -> int:
    """0 where nothing judges; 1 where a GPU is missed and one is expected, or torch, which is not
    there; with a GPU what the report itself says."""
    if not line.startswith(JUDGED):
        return 0
    if without_gpu() or "what-if --os" in line:
        return 0 if any(words in line for words in NO_GPU_IS_FINE) and "--require" not in line else 1
    told = re.findall(r"\bexit (\d)", said)
    return int(told[-1]) if told else 0


@pytest.mark.slow
def test_examples(folder: Path) -> None:
    """All of them in their order: one may read what another one wrote."""
    with Faults() as faults:
        for line in examples():
            with faults.of(line):
                done = _run(line, folder)
                assert done.returncode == exit_code(line, done.stdout), done.stderr
                assert done.stdout or "-o " in line or "export" in line
                assert "Traceback" not in done.stderr


@for_each(
    "words",
    sorted(
        {
            found
            for text in (README, *GUIDES)
            for found in re.findall(r'\["(?:CMD", ")?/opt/gpudoctor/bin/(gpudoctor.*?)\]', text)
        }
    ),
)
def test_health_check_lines(words: str, folder: Path) -> None:
    command = json.loads(f'["{words}]')
    done = _run(" ".join(command), folder)
    failing = ("FAIL ", "UNKNOWN ") if "--strict" in words else ("FAIL ",)
    assert done.returncode == int(done.stdout.startswith(failing)) and done.stderr == ""
    assert done.stdout.startswith(("OK ", "FAIL ", "UNKNOWN ")) and (not without_gpu() or done.returncode == 1)
    assert done.stdout.count("\n") == 1 and len(done.stdout.strip()) <= 80


def test_configuration(folder: Path) -> None:
    (text,) = blocks("config")
    (folder / "own.toml").write_text(text)
    done = _run("gpudoctor check --no-import --format json --config own.toml", folder)
    policy = json.loads(done.stdout)["policy"]
    assert (policy["expect"]["count"], policy["expect"]["model"]) == (8, "H100")
    assert policy["skip"] == ["gpu-memory-in-use"] and policy["fail_on"] == "warn"
    assert policy["thresholds"] == {"temperature_warn_c": 75.0}


@for_each("mark", sorted(SAMPLES), quick=3)
def test_an_output_that_is_shown_is_what_is_printed(mark: str, folder: Path) -> None:
    """Where a check, a fact or a word is new: `python docs/generate.py --samples`."""
    for number, block in enumerate(shown(mark)):
        own = folder / f"{mark}{number}"
        own.mkdir()
        assert printed(block, own) == block.text, f"{block.page.name}: python docs/generate.py --samples"


def test_every_output_that_is_shown_is_marked() -> None:
    marked = [block for block in shown() if block.mark in SAMPLES]
    assert {block.mark for block in marked} == {*SAMPLES}
    for language in {block.language for block in marked}:
        there = sum(page.read_text("utf-8").count(f"\n```{language}\n") for page in pages())
        assert sum(block.language == language for block in marked) == there


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not here")
def test_examples_with_jq(folder: Path) -> None:
    """On a report with findings, and on one without any: what to run here is then nothing, not an error of jq."""
    (text,) = blocks("run: jq")
    with Faults() as faults:
        for flags, finds in (("", True), (" --expect any --only looked-at-in-part", False)):
            _run(f"gpudoctor check --no-import --format json -o report.json{flags}", folder)
            found = json.loads((folder / "report.json").read_text("utf-8"))["findings"]
            assert finds or found == []
            for line in text.splitlines():
                with faults.of(line + flags):
                    done = _run(line, folder)
                    assert done.stderr == "" and done.returncode in (0, 1 if "jq -e" in line else 0)
                    assert finds or "findings" not in line or done.stdout == ""
                    assert "" not in done.stdout.splitlines()


def test_every_link_leads_to_a_file() -> None:
    linked = re.findall(r"\]\(((?!http)[^)#]+)", README)
    assert len(linked) > 15 and [name for name in linked if not (ROOT / name).exists()] == []


def test_marks_are_found() -> None:
    assert len(examples()) >= 30
    assert len(blocks("run: install")) == len(blocks("run: test")) == len(blocks("sample")) == 1
    assert len(README.splitlines()) <= 260


@pytest.mark.network
def test_install_command_on_a_fresh_copy(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", ".hypothesis", "tests")
    shutil.copytree(ROOT, copy, ignore=ignored)
    (command,) = blocks("run: install")
    env = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(
        command, shell=True, env=env, cwd=copy, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode in (0, 1, 3), done.stderr[-2000:]
    assert "gpudoctor 0." in done.stdout.splitlines()[0]
