"""The table of fixes that only a text asks for: every row is used, can be made at every place, and leaves no word open."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import doctor.text.fixes
from doctor.snapshot import Snapshot
from doctor.text import read
from doctor.text.fixes.written import table, written

from ..rows import for_each

SOURCES = "\n".join(path.read_text("utf-8") for path in Path(doctor.text.fixes.__file__).parent.glob("*.py"))
KEYS = {"name", "like", "id", "title", "text", "command", "where", "changes", "note", "source", "install", "lasting",
        "root", "destructive", "ends"}  # fmt: skip


@pytest.mark.slow
@for_each("name", sorted(table()))
def test_a_row_is_asked_for_and_says_what_to_do(name: str) -> None:
    row = table()[name]
    assert set(row) <= KEYS and f'"{name}"' in SOURCES
    for place in ("OS: Ubuntu 22.04", "OS: Windows 11", "container: docker", "scheduler: slurm"):
        s = read(place)
        fix = written(s, name)
        (step,) = fix.steps
        Snapshot().replace({path: value for path, value in step.changes.items() if path != "gpus"})
        words = " ".join((fix.title, fix.note, step.text, step.command))
        assert step.text and "{sudo}" not in words and "  " not in step.text
        left = set(re.findall(r"\{([a-z]+)\}", f"{fix.id} {words}"))
        for word in left - {"name"}:
            assert re.search(rf"\b{word}=", SOURCES), word


def test_words_are_filled_in_and_a_guest_has_no_host() -> None:
    fix = written(read("OS: Ubuntu 22.04"), "load-module", module="cuda", exact="cuda/12.4")
    assert (fix.id, fix.steps[0].command) == ("load-cuda-module", "module load cuda/12.4")
    assert written(read("OS: Ubuntu 22.04"), "switch-mig-off").steps[0].possible_here
    assert not written(read("container: docker"), "switch-mig-off").steps[0].possible_here
    assert written(read("OS: Windows 11"), "power-cycle-windows").id == "power-cycle"
