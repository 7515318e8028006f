"""Use the time in which files are read and the driver's agents answer: import what judging will need."""

from __future__ import annotations

import contextlib


def preload() -> None:
    """Import the catalogue and the masks, in this thread: a second one would only fight it for the interpreter."""
    with contextlib.suppress(Exception):  # whatever is wrong shows again, and is told, where it is really needed
        from ..judge.registry import load_all
        from ..snapshot import redact

        load_all()
        del redact
