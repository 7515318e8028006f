"""`gpudoctor fix --apply` in pip's and uv's environments: repaired, and restored as its file says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .environments import Patient
from .judging import Doctor
from .shelf import Shelf
from .wheels import Index

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
    steps = [line for line in done.stderr.splitlines() if line.startswith("[1/")]
    assert steps and all(f" ~/{sick.prefix.name}" in line and str(sick.prefix) not in line for line in steps), (
        "what gpudoctor writes into a file has no names"
    )
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


@pytest.mark.slow
def test_the_answer_names_what_is_repaired_what_is_left_and_what_is_new(
    patient: New, doctor: On, tmp_path: Path
) -> None:
    """A required package is installed, and brings a cuDNN that is cut off; seven GPUs stay away."""
    sick = patient("uv")
    sick.put("torch==2.9.1", "torchvision==0.24.1", "numpy==1.26.4")
    index = Index(tmp_path / "index")
    library = next(path for path in sick.prefix.rglob("libcudnn.so.9"))
    inside = library.relative_to(next(sick.prefix.rglob("site-packages"))).as_posix()
    index.add("sidecar", "1.0", files={"sidecar.py": b"", inside: b"cut off"})
    index.write()
    sick.room.variables["UV_INDEX"] = index.url
    restore = tmp_path / "before.txt"
    flags = ("--no-config", "--expect", "8xH100", "--require", "sidecar")
    done = doctor().run(sick, "fix", "--apply", "--yes", "--format", "json", "--restore-file", str(restore), *flags)
    assert json.loads(done.stdout) == {
        "repaired": ["required-package-missing"],
        "left": ["gpu-expectation-unmet"],
        "new": ["library-files-damaged", "torch-import-broken"],
        "restore_file": str(restore),
        "verdict": "fail",
    }, done.stderr
    assert done.returncode == 1
    text = restore.read_text()
    assert (
        "sidecar" in text.partition("# Installed since")[2] and "sidecar" not in text.partition("# Installed since")[0]
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert len(said) == 1 and said[0].startswith("[1/1] ") and said[0].endswith(" sidecar")
