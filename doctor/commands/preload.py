"""Import what judging will need while files are read and the driver's agents answer."""

from __future__ import annotations

import contextlib


def preload() -> None:
    """Import the catalog and the masks, in this thread: a second one would only compete for the interpreter."""
    with contextlib.suppress(Exception):  # any error shows again, and is reported, where the import is really needed
        from ..judge.registry import load_all
        from ..snapshot import redact

        load_all()
        del redact
