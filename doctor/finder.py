"""Finds our own modules where they lie, and reads their byte code: a run imports 250 of them, and the usual search
looks at four names for each and asks for the same path three times.

Only where the package is a plain folder of source files; anything else is left to the usual finders. Byte code is taken
only where it was made of the source that is there (PEP 552); else, as where there is none, Python's own loader goes on.
"""

from __future__ import annotations

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from _imp import _fix_co_filename  # type: ignore[attr-defined]
from marshal import loads
from os import listdir, stat
from os.path import dirname
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

_OURS = ("doctor.", "compat_matrix.")
_BY_TIME = MAGIC_NUMBER + bytes(4)
"""How byte code begins that holds the time and the size of its source."""
_HEAD = 16


class Loader(SourceFileLoader):
    """Python's own, which is asked only where the byte code is missing, old or of another kind."""

    def __init__(self, name: str, path: str, byte_code: str) -> None:
        super().__init__(name, path)
        self.byte_code = byte_code

    def get_code(self, fullname: str) -> CodeType | None:
        """The module's code."""
        try:
            source = stat(self.path)  # noqa: PTH116
            with open(self.byte_code, "rb", 0) as file:
                data = file.read()
            size, time = source.st_size & 0xFFFFFFFF, int(source.st_mtime) & 0xFFFFFFFF
            if data[:_HEAD] == _BY_TIME + time.to_bytes(4, "little") + size.to_bytes(4, "little"):
                code: CodeType = loads(memoryview(data)[_HEAD:])
                _fix_co_filename(code, self.path)
                return code
        except (OSError, ValueError, EOFError, TypeError):
            pass  # whatever is wrong with it: the source counts
        return super().get_code(fullname)


class Finder:
    """For `sys.meta_path`: `doctor.x.y` is doctor/x/y.py or the folder doctor/x/y."""

    def __init__(self, top: str) -> None:
        self.top = top
        self._files: dict[str, frozenset[str]] = {}
        prefix = sys.pycache_prefix
        tag = sys.implementation.cache_tag
        self._ending = "" if prefix or not tag or sys.flags.optimize else f".{tag}.pyc"

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
        byte_code = f"{folder}/__pycache__/{last}{self._ending}"
        loader = Loader(name, file_path, byte_code) if self._ending else SourceFileLoader(name, file_path)
        spec = ModuleSpec(name, loader, origin=file_path)
        spec.has_location = True
        if self._ending:
            spec.cached = byte_code
        return spec


def find_our_modules() -> None:
    """Put the finder before the others."""
    spec = globals()["__spec__"]
    if isinstance(spec.loader, SourceFileLoader) and not any(isinstance(one, Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, Finder(dirname(dirname(__file__))))  # noqa: PTH120
