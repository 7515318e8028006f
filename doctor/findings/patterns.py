"""Regular expressions that are compiled when they are first used: a run needs few of the catalogue's many."""

from __future__ import annotations

from ..formats.lazy import lazy

__all__ = ["lazy"]
