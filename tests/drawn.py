"""Property tests: how many examples are drawn."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Test = TypeVar("Test", bound=Callable[..., Any])
SHARE = float(os.environ.get("GPUDOCTOR_EXAMPLES", "0.25"))
"""Of the examples that a test asks for, so many are drawn: a quarter, where nobody asks for more."""


def drawn(examples: int, **more: Any) -> Callable[[Test], Test]:
    """Over `@given`: settings with this number of examples times SHARE, no deadline, and the marker `drawn`."""

    def decorate(test: Test) -> Test:
        count = max(5, round(examples * SHARE))
        return pytest.mark.drawn(settings(max_examples=count, deadline=None, **more)(test))

    return decorate
