"""The fake driver, for a machine that is looked at."""

from __future__ import annotations

from tests.fakes.fixtures import fakes, on_machine

__all__ = ["fakes", "on_machine"]
