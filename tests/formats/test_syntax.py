"""The readers run under the patient's Python: 3.8 syntax, standard library only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import doctor.formats

from ..rows import for_each

FILES = sorted(Path(doctor.formats.__file__).parent.glob("*.py"))


@for_each("path", FILES, ids=lambda path: path.stem)
def test_python_3_8_and_the_standard_library_suffice(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert all(name.name.split(".")[0] in sys.stdlib_module_names for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert (node.module or "").split(".")[0] in sys.stdlib_module_names
