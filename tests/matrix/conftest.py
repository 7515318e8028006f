"""One matrix for all tests, and copies of it that a test may change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_matrix import Matrix

Edit = Callable[[list[dict[str, Any]]], object]


@pytest.fixture(scope="session")
def m() -> Matrix:
    return Matrix.load()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the data folder."""
    target = tmp_path / "data"
    shutil.copytree(Matrix.load().directory, target)
    return target


@pytest.fixture
def changed(copy: Path) -> Callable[[str, Edit], Matrix]:
    """A matrix whose table NAME went through an edit of its rows."""

    def change(table: str, edit: Edit) -> Matrix:
        path = copy / f"{table}.json"
        rows = json.loads(path.read_text(encoding="utf-8"))
        edit(rows)
        path.write_text(json.dumps(rows), encoding="utf-8")
        return Matrix.load(str(copy))

    return change
