"""The fake driver is on the loader's path."""

from __future__ import annotations

from tests.fakes.fixtures import fakes

__all__ = ["fakes"]
