"""Proofs run as real children; the fake driver is on the loader's path."""

from __future__ import annotations

from tests.fakes.fixtures import fakes, on_machine

__all__ = ["fakes", "on_machine"]
