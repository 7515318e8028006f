"""`gpudoctor fix --apply` in pip's and uv's environments: repaired, and restored as its file says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .environments import Patient
from .judging import Doctor
from .shelf import Shelf

New = Callable[..., Patient]
On = Callable[..., Doctor]


@pytest.mark.parametrize("kind", [pytest.param("pip", marks=pytest.mark.slow), "uv"])
def test_repaired_and_restored(patient: New, doctor: On, shelf: Shelf, tmp_path: Path, kind: str) -> None:
    """A CUDA library that is gone is installed again, and the file takes it away as it was."""
    sick = patient(kind)
    sick.put("torch==2.9.1", "torchvision==0.24.1", "numpy==1.26.4")
    sick.drop("nvidia-cublas-cu12")
    before = sick.installed
    restore = tmp_path / "before.txt"
    flags = ("--apply", "--yes", "--no-config", "--restore-file", str(restore))
    done = doctor().run(sick, "fix", *flags)
    assert done.returncode == 0, done.stderr
    assert sick.installed["nvidia-cublas-cu12"] == "12.8.4.1"
    again = doctor().run(sick, "fix", "--no-config")
    assert again.returncode == 0, again.stdout

    text = restore.read_text()
    commands = [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")]
    restore.write_text(shelf.translate(text))
    for line in reversed(commands):  # what was installed since is removed first, as the file says
        sick.room.run(line)
    assert sick.installed == before


@pytest.mark.slow
def test_what_fails_is_said_and_the_file_stays(patient: New, doctor: On, shelf: Shelf, tmp_path: Path) -> None:
    """No index has the build that the fix names: one line, and the list of what was there before."""
    sick = patient("uv")
    sick.put("torch==2.9.1+cpu", index=shelf.index("cpu").url)
    sick.room.index = (shelf.root / "empty" / "simple").as_uri()
    restore = tmp_path / "before.txt"
    done = doctor().run(sick, "fix", "--apply", "--yes", "--no-config", "--restore-file", str(restore))
    assert done.returncode == 2 and str(restore) in done.stderr.splitlines()[-1], done.stderr
    assert "torch==2.9.1+cpu" in restore.read_text()
    assert sick.installed.get("torch") == "2.9.1+cpu", "a step that fails leaves the user with the torch that was there"
