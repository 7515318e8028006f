from __future__ import annotations

from pathlib import Path

import pytest

from .tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty root folder."""
    root = tmp_path / "root"
    root.mkdir()
    return Tree(root)
