"""pytest fixtures of the fake driver: `from tests.fakes.fixtures import fakes, on_machine` in a conftest."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from ..shared import made_once
from . import Machine, build_fakes


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled fakes, built once in a test run for all workers."""
    return made_once(tmp_path_factory, "fakes", build_fakes)


@pytest.fixture
def on_machine(fakes: Path, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """`on_machine(machine_or_name, old=False, **variables)`: a child's environment on that machine.

    The driver is in the folder `driver` of tmp_path; a second machine of the same test has `driver2`, and so on.
    """
    made = count(1)

    def environment(machine: Machine | str, old: bool = False, **more: str) -> dict[str, str]:
        chosen = Machine.load(machine) if isinstance(machine, str) else machine
        number = next(made)
        return chosen.environment(fakes, tmp_path / f"driver{number if number > 1 else ''}", old, **more)

    return environment
