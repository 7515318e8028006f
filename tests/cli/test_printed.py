"""What commands print that need no machine is as it was read last: `python -m tests.cli.printed` writes it again."""

from __future__ import annotations

import pytest

from ..rows import Faults
from .printed import FOLDER, commands, table


def test_each_command_prints_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with Faults() as faults:
        for command in commands():
            with faults.of(command):
                assert table(command) == (FOLDER / f"{command}.txt").read_text("utf-8")
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(commands())
