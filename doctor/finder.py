"""Finds our own modules where they lie: a run imports 250 of them, and the usual search looks at four names for each.

Only where the package is a plain folder of source files; anything else is left to the usual finders.
"""

from __future__ import annotations

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import SourceFileLoader, spec_from_file_location
from os import listdir
from os.path import dirname
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_OURS = ("doctor.", "compat_matrix.")


class Finder:
    """For `sys.meta_path`: `doctor.x.y` is doctor/x/y.py or the folder doctor/x/y."""

    def __init__(self, top: str) -> None:
        self.top = top
        self._files: dict[str, frozenset[str]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec; None for what is not ours."""
        if path is None or not name.startswith(_OURS):
            return None
        package, _, last = name.rpartition(".")
        folder = f"{self.top}/{package.replace('.', '/')}"
        if folder not in self._files:
            try:
                self._files[folder] = frozenset(listdir(folder))  # noqa: PTH208
            except OSError:
                return None
        if f"{last}.py" not in self._files[folder]:
            return None  # a package, or a name that is none: the usual finders know
        file_path = f"{folder}/{last}.py"
        return spec_from_file_location(name, file_path, loader=SourceFileLoader(name, file_path))


def find_our_modules() -> None:
    """Put the finder before the others."""
    spec = globals()["__spec__"]
    if isinstance(spec.loader, SourceFileLoader) and not any(isinstance(one, Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, Finder(dirname(dirname(__file__))))  # noqa: PTH120
