"""The fake driver."""

from tests.fakes.fixtures import fakes

__all__ = ["fakes"]
