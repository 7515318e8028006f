"""What is dear to make is made once in a test run, whichever worker asks first."""

from __future__ import annotations

import ensurepip
import fcntl
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder of this run that `make(folder)` fills: the other workers of the run wait and take it as it is.

    Nobody may change it afterwards. `make` gets a folder that is not there yet. What it raises, each worker hears.
    """
    base = factory.getbasetemp()
    if kept := os.environ.get("GPUDOCTOR_CI_MADE"):
        base = Path(kept)  # for all runs of .ci/run
        base.mkdir(exist_ok=True)
    elif "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # the run's own folder; each worker has one inside
    folder, done = base / name, base / f"{name}.done"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


def pip_wheel() -> Path:
    """The wheel of pip that this Python makes its environments with."""
    folders = (Path(ensurepip.__file__).parent / "_bundled", Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or ""))
    return next(found for folder in folders for found in folder.glob("pip-*.whl"))


def pip_command() -> list[str]:
    """This environment's pip, else (uv makes environments without one) that of the wheel."""
    return [sys.executable, *(("-m", "pip") if find_spec("pip") else (str(pip_wheel() / "pip"),))]


def debian_base() -> Path:
    """The Debian root file system with python3 that tests/docker/build.sh makes and keeps."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = "gpudoctor/debian-*.tar"
    if not list(cache.glob(kept)):
        with tempfile.TemporaryDirectory() as work:
            script = Path(__file__).parent / "docker" / "build.sh"
            subprocess.run([script, work, f"{work}/image.tar"], check=True, timeout=600, capture_output=True)
    return sorted(cache.glob(kept))[0]
