"""A broken environment does not break gpudoctor: what its own imports come from, in every way to install and start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import msgspec
import pytest

import gpudoctor
from gpudoctor._path import NEEDED

from ..reaction import unhurried
from ..rows import Faults, for_each

ROOT = Path(gpudoctor.__file__).parents[1]
BASE = Path(getattr(sys, "_base_executable", sys.executable))
COMMAND = Path(sys.executable).parent / "gpudoctor"
STARTS = {"script": [str(COMMAND)], "module": [sys.executable, "-m", "gpudoctor"]}
STANDARD = ("json", "dataclasses", "decimal", "tomllib", "socket", "sqlite3", "html")
"""None that Python itself may load before anything of ours."""
BROKEN = "import sys\nsys.stderr.write('loaded ' + __name__)\nraise ImportError('a broken ' + __name__)\n"


def broken(folder: Path) -> Path:
    """A folder with broken modules of all that gpudoctor needs, and some of the standard library's."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*NEEDED, *STANDARD, "doctor", "compat_matrix"):
        (folder / f"{name}.py").write_text(BROKEN)
    return folder


def installed(folder: Path) -> Path:
    """gpudoctor and what it requires in one folder, as `--target` and `--user` put it."""
    folder.mkdir(parents=True)
    packages = Path(msgspec.__file__).parents[1]
    for path in (ROOT / "gpudoctor", ROOT / "doctor", ROOT / "compat_matrix", *(packages / name for name in NEEDED)):
        found = path if path.exists() else path.with_suffix(".py")
        if found.exists():  # tomli is not needed here
            (folder / found.name).symlink_to(found)
    return folder


def run(command: list[str], cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX")}
    return subprocess.run(command, env={**kept, **env}, cwd=cwd, capture_output=True, text=True, check=False)


def sound(done: subprocess.CompletedProcess[str]) -> bool:
    return done.stdout.startswith(("OK", "FAIL")) and not done.stderr


HEALTH = unhurried(["healthcheck", "--expect", "any", "--python", str(BASE)])


@for_each("start", list(STARTS))
def test_a_broken_pythonpath(tmp_path: Path, start: str) -> None:
    folder = broken(tmp_path / f"broken-{start}")
    done = run([*STARTS[start], *HEALTH], tmp_path, PYTHONPATH=f"{folder}{os.pathsep}{tmp_path}/nothing")
    assert sound(done), done
    done = run([*STARTS[start], *HEALTH], folder, PYTHONPATH=f".{os.pathsep}")
    assert sound(done), done


def test_the_folder_that_it_is_called_in(tmp_path: Path) -> None:
    """`python -m` puts it first."""
    done = run([*STARTS["module"], *HEALTH], broken(tmp_path / "here"))
    assert sound(done), done


@pytest.mark.skipif(sys.platform != "linux", reason="links and environments of POSIX")
def test_installed_for_the_user_or_into_a_folder(tmp_path: Path) -> None:
    """What holds gpudoctor itself stays, whatever stands before it."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    user = tmp_path / "user"
    installed(user / "lib" / version / "site-packages")
    target = installed(tmp_path / "target")
    bad = broken(tmp_path / "bad")
    scattered = []
    for path in installed(tmp_path / "all").iterdir():
        folder = tmp_path / "each" / ("own" if path.resolve().parent == ROOT else path.name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / path.name).symlink_to(path.resolve())
        scattered.append(str(folder))
    module = [str(BASE), "-m", "gpudoctor", *HEALTH]
    with Faults() as faults:
        for name, env in {
            "--user": {"PYTHONUSERBASE": str(user), "PYTHONPATH": str(bad)},
            "--target": {"PYTHONPATH": f"{bad}{os.pathsep}{target}", "PYTHONNOUSERSITE": "1"},
            "a folder a package": {"PYTHONPATH": os.pathsep.join(scattered), "PYTHONNOUSERSITE": "1"},
        }.items():
            with faults.of(name):
                done = run(module, tmp_path, **env)
                assert sound(done), done


@pytest.mark.skipif(sys.platform != "linux", reason="environments of POSIX")
def test_a_broken_user_site(tmp_path: Path) -> None:
    """In an environment that shows it: one with the system's packages. Its .pth files count as little."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = broken(tmp_path / "user" / "lib" / version / "site-packages")
    (site / "more.pth").write_text(f"{broken(tmp_path / 'more')}\n")
    prefix = tmp_path / "venv"
    subprocess.run([BASE, "-m", "venv", "--without-pip", "--system-site-packages", prefix], check=True)
    own = next((prefix / "lib").glob("python3*")) / "site-packages"
    (own / "it.pth").write_text(f"{installed(tmp_path / 'folder')}\n")
    done = run(
        [str(prefix / "bin" / "python"), "-m", "gpudoctor", *HEALTH], tmp_path, PYTHONUSERBASE=str(tmp_path / "user")
    )
    assert sound(done), done


def test_the_patient_has_it_all(tmp_path: Path) -> None:
    """What is dropped from gpudoctor's imports is what it examines."""
    folder = broken(tmp_path / "broken")
    about = folder / "numpy-9.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 9.9\n")
    words = ["check", "--expect", "any", "--no-import", "--format", "json", "--python", str(BASE)]
    done = run([str(COMMAND), *words], tmp_path, PYTHONPATH=str(folder))
    found = json.loads(done.stdout)["snapshot"]["python"]["distributions"]
    assert any((one["name"], one["version"]) == ("numpy", "9.9") for one in found), found


def test_what_it_needs_is_what_it_requires() -> None:
    """By its metadata; a new dependency is one more name."""
    required = {
        line.split(";")[0].partition(">")[0].strip().lower()
        for line in requires("gpudoctor") or ()
        if "extra ==" not in line
    }
    modules = {name for name, owners in packages_distributions().items() if {one.lower() for one in owners} & required}
    assert {name for name in modules if not name.startswith("_") and name != "example"} <= set(NEEDED)
