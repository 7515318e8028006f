"""What runs: `pytest` the quick tests; `-m MARK` the marked ones, where their part is here; `--everything` all.

In CI a skip of a part that is here is a failure.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from . import said
from .parts import NEEDS, torch_wheel
from .shared import made_once

settings.register_profile("untimed", deadline=None)  # no test asserts a time: the machine may be busy
settings.load_profile("untimed")

REQUIRED = frozenset(filter(None, os.environ.get("GPUDOCTOR_CI_REQUIRES", "").split(",")))


AFTER = ("slow", *NEEDS)
"""Markers of what a plain `pytest` leaves to the later stages of .ci/run."""

# Else each child of a test, and each run, compiles all of gpudoctor anew: twice the time. __pycache__ is ignored by git.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


# A check or fix that raises is a remark in the report, and a red test.
os.environ["GPUDOCTOR_TRACEBACK"] = "1"


@cache
def _why_not(marker: str) -> str:
    return NEEDS[marker]()


def _hear_signals() -> None:
    """In the background of a shell and under nohup some signals are ignored, and every child would inherit that."""
    for name in ("SIGINT", "SIGQUIT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # a handler is the default again in a child


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--everything", action="store_true", help="the slow tests and those of parts too")
    parser.addoption(
        "--draw", metavar="N:SEED", help="one in N of them, chosen by chance; the same SEED, the same tests"
    )


def pytest_configure() -> None:
    _hear_signals()
    unknown = REQUIRED - NEEDS.keys()
    if unknown:
        raise pytest.UsageError(f"GPUDOCTOR_CI_REQUIRES: no such marker: {', '.join(sorted(unknown))}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without -m, --everything or a test's own name, only the quick ones; of those `--draw` chooses."""
    left_out: set[pytest.Item] = set()
    if not (config.option.markexpr or config.option.everything or any("::" in argument for argument in config.args)):
        left_out = {item for item in items if any(item.get_closest_marker(marker) for marker in AFTER)}
    if config.option.draw:
        one_in, _, seed = config.option.draw.partition(":")
        chance = random.Random(seed)
        left_out |= {item for item in items if chance.randrange(int(one_in))}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in NEEDS:
        if item.get_closest_marker(marker) and (reason := _why_not(marker)):
            pytest.skip(f"{marker}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """What checks say in these folders is written in `said`, word by word."""
    if not item.nodeid.startswith(said.FOLDERS) or any(item.get_closest_marker(marker) for marker in (*AFTER, "drawn")):
        yield
        return
    with said.comparing(item.nodeid, str(getattr(item, "funcargs", {}).get("tmp_path", ""))):
        yield


def pytest_sessionfinish(exitstatus: int) -> None:
    if not exitstatus:
        said.finish()


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

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, timeout=120)
        pip = [str(folder / "bin/pip"), "install", "-qq", "--disable-pip-version-check", str(wheel)]
        subprocess.run(pip, check=True, timeout=400)

    return made_once(tmp_path_factory, "with-torch", make)
