"""Use the time in which the driver's agents answer: import what judging will need."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from threading import Thread

Say = Callable[[str], None]


def preloading(say: Say | None = None) -> Say:
    """A progress callback that passes the words on; the first words mean that the agents were started."""
    begun: list[Thread] = []

    def heard(words: str) -> None:
        if not begun:
            begun.append(Thread(target=_load, daemon=True))
            begun[0].start()
        if say is not None:
            say(words)

    return heard


def _load() -> None:
    with contextlib.suppress(Exception):  # whatever is wrong shows again, and is told, where it is really needed
        from ..judge.registry import load_all
        from ..snapshot import redact

        load_all()
        del redact
