"""The commands of every machine, in every output and on a terminal (`typed.py`)."""

from __future__ import annotations

import pytest

from ..rows import Faults, share
from . import typed
from .fact_cases import cases

PARTS = 20
"""The first is quick."""


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_no_command_holds_a_mask_and_a_terminal_shows_true_names(part: int) -> None:
    with Faults() as found:
        for number, case in share(list(enumerate(cases())), part, PARTS):
            for folder in (number, number + 3) if part else (number,):
                with found.of(f"{case.name} in {typed.FOLDERS[folder % len(typed.FOLDERS)][0]}"):
                    assert not typed.faults(typed.of_somebody(case.snapshot, folder), case.policy)
