"""docs/fleet.md as a newcomer walks it: a spool, last week's database, and every command in the page's order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .. import samples
from ..rows import Faults

PAGE = "fleet.md"
SUBMIT = "ray job submit --address http://10.0.0.1:8265 -- gpudoctor fleet run --on ray -o /shared/now.db"
"""Tried by hand: Ray's job server needs Ray's dashboard, which no test installs."""


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "VIRTUAL_ENV")}
    return {**kept, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.mark.slow
def test_each_command_in_one_folder_prints_what_the_page_shows(tmp_path: Path) -> None:
    samples.SAMPLES["fleet"](tmp_path)
    (tmp_path / "now.db").unlink()
    shown = [block for block in samples.blocks("fleet") if block.page.name == PAGE]
    assert len(shown) >= 5
    with Faults() as faults:
        for block in shown:
            first, _, output = block.text.partition("\n")
            command = first.removeprefix("$ ")
            done = subprocess.run(command, shell=True, env=environment(), cwd=tmp_path, capture_output=True, text=True)
            with faults.of(command):
                assert (done.stdout, done.stderr) == (output, "")
    assert (tmp_path / "now.db").exists()


def test_every_command_that_the_page_prints_is_run_by_a_test() -> None:
    """Those of collecting in test_collect.py; the install command by tests/test_readme.py, on a fresh copy."""
    text = next(page for page in samples.pages() if page.name == PAGE).read_text("utf-8")
    lines = text.splitlines()
    fences = [number for number, line in enumerate(lines) if line.startswith("```") and line != "```"]
    unmarked = [lines[number + 1] for number in fences if not lines[number - 1].startswith("<!-- ")]
    assert [line.split("#")[0].strip() for line in unmarked] == ["pipx install '.[fleet]'", SUBMIT]
