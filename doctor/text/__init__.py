"""From pasted text to facts: `read` builds a Snapshot, in which each fact has the line that it came from."""

from __future__ import annotations

from .excerpt import excerpt
from .text import judgeable, read

__all__ = ["excerpt", "judgeable", "read"]
