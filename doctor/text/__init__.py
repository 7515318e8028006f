"""Text that people paste -> facts: `read` makes a Snapshot of it, each fact with the line it came from."""

from __future__ import annotations

from .excerpt import excerpt
from .text import judgeable, read

__all__ = ["excerpt", "judgeable", "read"]
