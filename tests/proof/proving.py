"""`gpudoctor prove` as a process: on a machine of the fake driver, with a fake torch or none in the environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fakes import Machine
from tests.reaction import HANG_S, unhurried

HERE = Path(__file__).parent


def environment(folder: Path, torch: str | None = "fake") -> Path:
    """A virtual environment with the fake torch (`fake`), with the one whose GPUs take time (`speed`), with these words
    as its torch/__init__.py, or without."""
    prefix = folder / "venv"
    venv.create(prefix, with_pip=False, symlinks=True)
    if torch is not None:
        package = next((prefix / "lib").glob("python3*")) / "site-packages" / "torch"
        package.mkdir()
        shutil.copy(HERE / "fake_torch.py", package / "__init__.py")
        shutil.copy(HERE / "fake_distributed.py", package / "distributed.py")
        if torch == "speed":
            (package / "__init__.py").rename(package / "base.py")
            shutil.copy(HERE / "fake_torch_speed.py", package / "__init__.py")
        elif torch != "fake":
            (package / "__init__.py").write_text(torch)
        (package / "version.py").write_text("__version__ = '1.13.1+cu117'\ncuda = '11.7'\nhip = None\n")
    return prefix


def variables(
    fakes: Path, folder: Path, machine: str = "healthy-h100", driver: dict[str, str] | None = None, **torch: Any
) -> dict[str, str]:
    """The environment of a run on this machine; `torch`: what the fake torch is told."""
    env = Machine.load(machine).with_(**(driver or {})).environment(fakes, folder / "driver")
    backends = str(folder / "backends")
    return {**env, "FAKE_TORCH": json.dumps(torch), "FAKE_TORCH_BACKENDS": backends, "PYTHONDONTWRITEBYTECODE": "1"}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "doctor", *words]


def run(
    words: Sequence[str], env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run gpudoctor to its end."""
    return subprocess.run(
        command(*unhurried(words)),
        env={**os.environ, **(env or {})} if env is None else env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def report(words: Sequence[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> dict[str, Any]:
    """The JSON report, which says the exit code."""
    done = run([*words, "--format", "json"], env, cwd)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit_code"] == done.returncode and done.stderr == ""
    return found
