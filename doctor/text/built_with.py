"""`torch.__config__.show()`, as MMEngine's collect_env prints it too: the architectures that torch was built for."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_CODE = lazy(r"\bcode=((?:sm|compute)_\d{2,3}[af]?)\b")


def read_built_with(lines: list[Line]) -> Iterator[Statement]:
    """One list for each `NVCC architecture flags`, which go on over several lines."""
    found: list[str] = []
    opened: Line | None = None
    for line in lines:
        if "NVCC architecture flags:" in line.text:
            opened, found = line, _CODE.findall(line.text)
        elif opened and _CODE.search(line.text) and not line.text.lstrip().startswith(("CuDNN", "Build")):
            found += _CODE.findall(line.text)
        elif opened:
            yield from _statement(opened, found)
            opened = None
    if opened:
        yield from _statement(opened, found)


def _statement(line: Line, found: list[str]) -> Iterator[Statement]:
    if found:
        yield say("torch_run.arch_list", tuple(dict.fromkeys(found)), line)
