"""What the terminal can show: width, color, characters."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from ..report.terminal import Display


def display(flags: dict[str, Any]) -> Display:
    """How to write for these flags and this stdout."""
    from ..report.terminal import Display

    to_file = flags["output"] not in (None, "-")
    how = Display(80 if to_file else width(), flags.get("verbose", 0), only_ascii(flags), styled(flags))
    return how._replace(quiet=bool(flags.get("quiet")))


def only_ascii(flags: dict[str, Any]) -> bool:
    """Whether text must be ASCII only: because of --ascii, or because stdout's encoding has no other characters."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "").replace("_", "")
    return flags["ascii_"] or (flags["output"] in (None, "-") and not encoding.startswith("utf"))


def styled(flags: dict[str, Any]) -> bool:
    """Whether these flags and this stdout call for colored text: no other output has a style."""
    text = flags.get("format_", "text") == "text" and flags.get("output") in (None, "-")
    return text and colour(bool(flags.get("no_color")))


def own_terminal(flags: dict[str, Any], stream: TextIO | None = None) -> bool:
    """Whether these flags write text to the user's own terminal (`stream`, else stdout), not in CI."""
    text = flags.get("format_", "text") == "text" and not flags.get("brief") and flags.get("output") in (None, "-")
    return text and not os.environ.get("CI") and (stream or sys.stdout).isatty()


def width() -> int:
    """Columns of the terminal; 80 if stdout is not one."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def colour(no_color: bool) -> bool:
    """NO_COLOR and --no-color win, then FORCE_COLOR, then whether stdout is a terminal that supports color."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("dumb", "")
