"""What the checks say in these tests is written in `said`, word by word (`tests/said.py`)."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from .. import said

HERE = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    if item.get_closest_marker("slow"):
        yield
        return
    scratch = str(getattr(item, "funcargs", {}).get("tmp_path", ""))
    with said.comparing(HERE, item.nodeid.partition("tests/checks/")[2], scratch):
        yield


def pytest_sessionfinish(exitstatus: int) -> None:
    if not exitstatus:
        said.finish(HERE)
