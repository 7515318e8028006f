"""A hostile working folder: nothing in it runs, whichever Python is looked at; what hides torch there is told by name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..proof.proving import environment
from .command import gpudoctor

_TRAP = "import os\nopen(os.environ['TRAP'], 'a').write(__file__ + '\\n')\n"
_NAMES = (
    "torch", "json", "re", "os", "signal", "encodings", "sitecustomize", "usercustomize", "numpy", "pip", "msgspec",
    "click", "doctor", "agent_boot", "torch_facts", "ctypes", "typing_extensions",
)  # fmt: skip


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A folder full of modules that tell when they are run."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in _NAMES:
        (folder / f"{name}.py").write_text(_TRAP)
    (folder / "uv.toml").write_text("this is no TOML")
    return folder


def patients(folder: Path) -> list[Path]:
    """Environments with a fake torch, of this Python, of the oldest and of a newer one, where they are here."""
    made = [environment(folder / "own")]
    for minor in (8, 12):
        python = shutil.which(f"python3.{minor}")
        prefix = folder / f"3.{minor}"
        if (
            python
            and subprocess.run([python, "-m", "venv", "--without-pip", prefix], capture_output=True).returncode == 0
        ):
            source = next((made[0] / "lib").glob("python3*")) / "site-packages" / "torch"
            shutil.copytree(source, next((prefix / "lib").glob("python3*")) / "site-packages" / "torch")
            made.append(prefix)
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="venvs of POSIX")
def test_nothing_in_the_working_folder_runs(tmp_path: Path, trapped: Path) -> None:
    trap = tmp_path / "trap"
    env = {"TRAP": str(trap), "PYTHONPATH": "", "LD_LIBRARY_PATH": ":"}
    for prefix in patients(tmp_path):
        done = gpudoctor("check", "--format", "json", "--python", prefix, env=env, cwd=trapped)
        report = json.loads(done.stdout)
        assert not trap.exists(), (prefix, trap.read_text())
        assert report["snapshot"]["torch_run"]["imported"] is True
        found = [f for f in report["findings"] if f["id"] == "torch-shadowed-by-folder"]
        assert [f["status"] for f in found] == ["warn"] and found[0]["facts"]["hidden_by"][0].endswith("/work/torch.py")
        assert gpudoctor("healthcheck", "--python", prefix, env=env, cwd=trapped).returncode in (0, 1)
    assert not trap.exists(), trap.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="venvs of POSIX")
def test_a_relative_pythonpath_still_counts(tmp_path: Path) -> None:
    prefix = environment(tmp_path, None)
    package = tmp_path / "work" / "src" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '9.9'\n")
    done = gpudoctor("check", "--format", "json", "--python", prefix, env={"PYTHONPATH": "src"}, cwd=tmp_path / "work")
    assert json.loads(done.stdout)["snapshot"]["torch_run"]["version"] == "9.9"
