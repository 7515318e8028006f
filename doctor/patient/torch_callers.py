"""Gather which functions of torch the compiled extensions call, and which of those this torch does not define.

Line: calls {path, package, symbols (how many of torch's names it needs), missing: [first of those that neither torch's
libraries nor the package's own define], lost (how many)}, one for each library that calls torch; calls_looked {} at the
end, where torch's own libraries could be read. Python loads an extension with all its symbols at once: one whose symbol
is nowhere cannot be imported.
"""

from __future__ import annotations

import re
from typing import Any, List, Tuple

from .files import Files
from .path_words import clean

_TORCH = re.compile(r"lib(torch|c10|shm|caffe2)\w*\.so$")
_MUST = ("libc10.so", "libtorch_cpu.so")
"""Without these in torch/lib the build is one whose libraries lie elsewhere (Debian's, one from source)."""
_MAX_CALLERS = 64
_MAX_SHOWN = 8

Library = Tuple[str, str]
"""Path and package."""


def gather_torch_callers(files: Files, torch: str, libraries: List[Library], tools: Any) -> None:
    """Emit the lines above; `torch`: its folder, `libraries`: those of extensions."""
    lib = torch + "/lib"
    try:
        names = [name for name in sorted(files.listed(lib)) if _TORCH.match(name)]
    except OSError:
        return
    if not set(_MUST) <= set(names):
        return
    own = [files.on_disk(lib + "/" + name) for name in names]
    for path, package in files.first(sorted(set(libraries)), _MAX_CALLERS, "torch-callers"):
        beside = [files.on_disk(other) for other, of in libraries if of == package and other != path]
        line = tools.torch_calls(files.on_disk(path), own, beside)
        if line is None:
            return  # torch's libraries have no table to look into
        if line["symbols"]:
            missing = sorted(clean(name) for name in line["missing"])
            row = {"at": "calls", "path": clean(path), "package": clean(package), "symbols": line["symbols"]}
            files.emit(dict(row, missing=missing[:_MAX_SHOWN], lost=len(missing)))
    files.emit({"at": "calls_looked"})
