"""Where torch is imported from: the first fix changes what is imported, whatever is wrong with that copy."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .environments import Patient
from .judging import Doctor, found
from .shelf import Shelf

New = Callable[..., Patient]
On = Callable[..., Doctor]
GOOD = "2.9.1+cu128"
SICK = {"cpu": "torch==2.9.1+cpu", "wrong": "torch==2.6.0", "broken": "torch==2.9.1"}
"""On an RTX 5090: a CPU build, one without code for it, and one whose import fails."""
_IMPORTED = "import torch; print(torch.__version__, torch.__file__)"


def put(patient: Patient, shelf: Shelf, what: str, line: str) -> None:
    """The sick copy, by this beginning of an install line."""
    index = shelf.index("cpu").url if what == "cpu" else shelf.default.url
    option = "--default-index" if line.startswith("uv") else "--index-url"
    patient.room.run(f"{line} {option} {index} {SICK[what]}")


def damage(what: str, folder: Path) -> None:
    if what == "broken":
        init = next(folder.rglob("torch/__init__.py"))
        text = init.read_text("utf-8")
        init.unlink()
        init.write_text(f"raise ImportError('cannot import name _C')\n{text}", "utf-8")


def editable(folder: Path, site: Path) -> None:
    """Leave what `pip install -e` leaves of a checkout: a .pth file, and metadata that say so."""
    (site / "__editable__.torch.pth").write_text(f"{folder}\n")
    metadata = next(folder.glob("torch-*.dist-info"))
    url = {"url": folder.as_uri(), "dir_info": {"editable": True}}
    (metadata / "direct_url.json").write_text(json.dumps(url))
    names = ["__editable__.torch.pth", *(f"{metadata.name}/{path.name}" for path in metadata.iterdir())]
    (metadata / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    metadata.rename(site / metadata.name)


def imported(patient: Patient) -> str:
    """Version and file of the torch that a program gets."""
    done = subprocess.run(
        [patient.python, "-c", _IMPORTED], capture_output=True, text=True, env=patient.room.env, cwd=patient.room.folder
    )
    return done.stdout or done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("origin", "what"),
    [
        ("pythonpath", "cpu"),
        *(
            pytest.param(origin, what, marks=pytest.mark.slow)
            for origin in (
                "pythonpath",
                "user",
                "venv-over-system",
                "system-alone",
                "pythonpath-alone",
                "pth",
                "editable-alone",
            )
            for what in SICK
            if (origin, what) != ("pythonpath", "cpu")
        ),
    ],
)
def test_the_first_fix_changes_what_is_imported(origin: str, what: str, patient: New, doctor: On, shelf: Shelf) -> None:
    sick = patient("system" if origin in ("user", "venv-over-system", "system-alone") else "pip")
    room, deps = sick.room, "" if origin.endswith("alone") else "--no-deps"
    if not origin.endswith("alone"):
        sick.put("torch==2.9.1", by="pip")
    if origin.startswith("pythonpath"):
        folder = room.folder / "elsewhere"
        put(sick, shelf, what, f"{sick.typed} -m pip install -q {deps} --target {shlex.quote(str(folder))}")
        room.variables["PYTHONPATH"] = str(folder)
        damage(what, folder)
    elif origin in ("pth", "editable-alone"):
        folder = room.folder / "elsewhere"
        put(sick, shelf, what, f"{sick.typed} -m pip install -q {deps} --target {shlex.quote(str(folder))}")
        damage(what, folder)
        site = next(sick.prefix.glob("lib/python*/site-packages"))
        if origin == "pth":
            (site / "own.pth").write_text(f"import sys; sys.path.insert(0, {str(folder)!r})\n{site / 'kept'}\n")
        else:
            editable(folder, site)
    elif origin == "user":
        put(sick, shelf, what, f"{sick.typed} -m pip install -q --user --no-deps --ignore-installed")
        damage(what, room.folder / ".local")
    else:
        if origin == "system-alone":
            put(sick, shelf, what, f"{sick.typed} -m pip install -q")
            damage(what, sick.prefix)
        venv = room.folder / "own"
        room.run(f"{sick.typed} -m venv --without-pip --system-site-packages {shlex.quote(str(venv))}")
        sick = Patient(room, "pip", venv)
        if origin == "venv-over-system":
            put(sick, shelf, what, f"uv pip install -q --no-deps --python {sick.typed}")
            damage(what, venv)
    assert GOOD not in imported(sick) or what == "broken"
    commands = doctor("rtx5090").cure(sick)
    version, _, file = imported(sick).partition(" ")
    assert "+cu" in version and "elsewhere" not in file, (version, file, commands)
    if origin in ("pythonpath", "user"):
        assert version == GOOD, commands
    if origin == "pythonpath":
        assert commands == ["unset PYTHONPATH"], "an install changes nothing there"


@pytest.mark.slow
def test_a_folder_beside_the_program(patient: New, doctor: On, shelf: Shelf) -> None:
    """Programs in that folder get its torch: to rename it is the only step, whatever is installed."""
    sick = patient("pip")
    sick.put("torch==2.9.1", by="pip")
    for what in SICK:
        folder = sick.room.folder / f"program-{what}"
        put(sick, shelf, what, f"{sick.typed} -m pip install -q --no-deps --target {shlex.quote(str(folder))}")
        damage(what, folder)
        on = doctor("rtx5090")
        here = Patient(sick.room, "pip", sick.prefix)
        assert not found(on.check(here), "torch-shadowed-by-folder")
        room, sick.room.folder = sick.room.folder, folder
        try:
            report = on.check(here)
        finally:
            sick.room.folder = room
        finding = found(report, "torch-shadowed-by-folder")
        assert finding and "Rename" in finding["fixes"][0]["title"]
        assert not [f for f in report["findings"] if f["status"] == "fail"], "the installed one is sound"
