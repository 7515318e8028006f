"""Texts that are only a list of files: file names are not symptoms, whatever people usually ask about them."""

from __future__ import annotations

from collections.abc import Iterable

from ..formats.lazy import lazy
from .statement import Line

_FILE = lazy(
    r"\s{0,12}(?:[bcdlps-][rwxsStT-]{9}[.+@]? .{5,80} |lib[\w.+-]{2,60} (?:\([\w ,.+-]{0,80}\) )?=> "
    r"|lib[\w.+-]{2,60}: )?"
    r"(?:/[\w.+@~-]{1,80}){2,16}/?(?: (?:->|=>) [\w./+@~-]{1,200})?(?: \(0x[0-9a-f]{4,16}\))?\s{0,4}$"
)
"""A path, alone or as `ls -l`, `ldd`, `ldconfig -p` and `whereis` write it."""
_COMMAND_LINE = lazy(
    r".{0,60}[$#%>] (?:sudo )?(?:ls|find|locate|ldd|ldconfig|whereis|which|readlink|realpath)\b.{0,200}$"
)
"""The command that printed the list."""


def lists_files(lines: Iterable[Line]) -> bool:
    """Whether every line is a file's path or the command that listed it, and one at least is a path."""
    files = 0
    for line in lines:
        if _FILE.match(line.text):
            files += 1
        elif line.text.strip() and not _COMMAND_LINE.match(line.text):
            return False
    return bool(files)
