"""Whether a path is the interpreter of a Python environment, decided from files without running anything.

A venv or virtualenv (PEP 405: pyvenv.cfg names the home of its Python), a conda environment and an installation all
lead to a CPython binary whose standard library is where that binary searches for it (CPython Modules/getpath.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from doctor.patient.files import Files
from doctor.patient.interpreters import choose
from doctor.targets.environment import current_folder

_NAME = re.compile(r"python(?:3(?:\.\d{1,2}t?d?)?)?")
_HOME = re.compile(r"^[ \t]*home[ \t]*=[ \t]*(/\S.*?)[ \t\r]*$", re.M)
_ELF, _MACH_O = b"\x7fELF", (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_MAIN = b"Py_BytesMain"
"""What the main function of CPython's own binary calls, since 3.8: its symbol is in every build, static or shared."""
_MOST_BYTES, _MOST_CONFIG = 256 << 20, 16384


def interpreter(python: str) -> str:
    """The path of interpreter `python` (a path, an environment's folder, or a name on PATH); '' if it is not one."""
    options = {"python": python, "cwd": current_folder()}
    choice = choose(Files(lambda _line: None), os.environ, options, lambda _prefix: False)
    if not python or choice is None or not choice.executable:
        return ""
    path = Path(choice.executable)
    try:
        real = path.resolve(strict=True)
        found = _is_cpython(real) and any(_has_library(base) for base in _bases(path, real))
    except (OSError, RuntimeError, ValueError):  # what cannot be read is not known to be one
        return ""
    return choice.executable if found and _NAME.fullmatch(path.name) and os.access(real, os.X_OK) else ""


def _is_cpython(real: Path) -> bool:
    if not _NAME.fullmatch(real.name) or not real.is_file() or real.stat().st_size > _MOST_BYTES:
        return False
    data = real.read_bytes()
    return _MAIN in data if data.startswith(_ELF) else data.startswith(_MACH_O)


def _bases(path: Path, real: Path) -> Iterator[Path]:
    """Where the standard library may be: near the binary itself, or in the home of the venv that has a copy of it."""
    yield real.parent.parent
    config = path.parent.parent / "pyvenv.cfg"
    if config.is_file() and config.stat().st_size < _MOST_CONFIG:
        home = _HOME.search(config.read_text("utf-8", "replace"))
        if home:
            yield Path(home[1]).resolve().parent


def _has_library(base: Path) -> bool:
    return any(
        _NAME.fullmatch(folder.parent.name) and folder.is_file()
        for lib in ("lib", "lib64")
        for folder in (base / lib).glob("python3*/os.py")
    )
