"""Marked tests run where their part is here; in CI a skip of a part that is here is a failure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from .parts import NEEDS, torch_wheel

settings.register_profile("untimed", deadline=None)  # no test asserts a time: the machine may be busy
settings.load_profile("untimed")

REQUIRED = frozenset(filter(None, os.environ.get("GPUDOCTOR_CI_REQUIRES", "").split(",")))


@cache
def _why_not(marker: str) -> str:
    return NEEDS[marker]()


def _hear_signals() -> None:
    """In the background of a shell and under nohup some signals are ignored, and every child would inherit that."""
    for name in ("SIGINT", "SIGQUIT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # a handler is the default again in a child


def pytest_configure() -> None:
    _hear_signals()
    unknown = REQUIRED - NEEDS.keys()
    if unknown:
        raise pytest.UsageError(f"GPUDOCTOR_CI_REQUIRES: no such marker: {', '.join(sorted(unknown))}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in NEEDS:
        if item.get_closest_marker(marker) and (reason := _why_not(marker)):
            pytest.skip(f"{marker}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """A skip, whoever asked for it, is a failure where GPUDOCTOR_CI_REQUIRES says that the part is here."""
    report = yield
    required = sorted(marker for marker in REQUIRED if item.get_closest_marker(marker))
    if report.skipped and required:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and CI requires {', '.join(required)}: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def with_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the CPU build of torch, installed from the wheel's file: never from an index."""
    wheel = torch_wheel()
    assert wheel is not None
    folder = tmp_path_factory.mktemp("torch") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    pip = [str(folder / "bin/pip"), "install", "-qq", "--disable-pip-version-check", str(wheel)]
    subprocess.run(pip, check=True, timeout=400)
    return folder
