"""The fake NVML is on the loader's path of the watched runs that ask for it."""

from __future__ import annotations

from tests.fakes.fixtures import fakes, on_machine

__all__ = ["fakes", "on_machine"]
