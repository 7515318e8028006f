"""What is dear to make is made once in a test run, whichever worker asks first."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder of this run that `make(folder)` fills: the other workers of the run wait and take it as it is.

    Nobody may change it afterwards. `make` gets a folder that is not there yet. What it raises, each worker hears.
    """
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # the run's own folder; each worker has one inside
    folder, done = base / name, base / f"{name}.done"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


def debian_base() -> Path:
    """The Debian root file system with python3 that tests/docker/build.sh keeps; skips where it has not made it yet."""
    import os

    import pytest

    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    found = sorted(Path(cache).glob("gpudoctor/debian-*.tar"))
    if not found:
        pytest.skip("no Debian base is kept yet: tests/docker/build.sh makes it")
    return found[0]
