"""Indexes and machines for the tests that carry out install steps."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.fakes import Machine
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)

from .environments import Patient, Room, make
from .judging import Doctor
from .shelf import Shelf

RELEASES = ("2.6.0", "2.8.0", "2.9.1", "2.11.0", "2.13.0")


@pytest.fixture(scope="session", autouse=True)
def _linux() -> None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("the wheels of these tests are for Linux on x86_64")


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("indexes"), RELEASES)


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("template") / "pip"


@pytest.fixture
def patient(tmp_path: Path, shelf: Shelf, _template: Path) -> Callable[..., Patient]:
    """`patient(kind)`: an empty environment in a home of its own."""
    made = count(1)

    def new(kind: str) -> Patient:
        room = Room(tmp_path / f"home{next(made)}", shelf.default.url)
        return make(room, kind, _template)

    return new


@pytest.fixture
def doctor(fakes: Path, tmp_path: Path, shelf: Shelf) -> Callable[..., Doctor]:  # noqa: F811
    """`doctor(machine, **scenario)`: gpudoctor on that machine."""
    made = count(1)

    def on(machine: str = "healthy-h100", **scenario: str) -> Doctor:
        folder = tmp_path / f"driver{next(made)}"
        return Doctor(Machine.load(machine).with_(**scenario).environment(fakes, folder), shelf)

    return on
