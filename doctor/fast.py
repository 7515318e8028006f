"""The fast lane: plain command lines of `check`, `healthcheck` and `explain`, without click."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .commands.flags import CHECK, EXPLAIN, HEALTHCHECK, Flag, read_flags

if TYPE_CHECKING:
    from typing import Any

_FLAGS: dict[str, tuple[Flag, ...]] = {"check": CHECK, "healthcheck": HEALTHCHECK, "explain": EXPLAIN}


def run_fast(arguments: Sequence[str]) -> int | None:
    """The exit code, or None where click has to read the command line (nothing was done then)."""
    command, rest = arguments[0], list(arguments[1:])
    what = rest.pop(0) if command == "explain" and rest else ""
    if command == "explain" and (not what or (what.startswith("-") and what != "-")):
        return None
    flags = read_flags(_FLAGS[command], rest)
    if flags is None:
        return None
    from .finder import find_our_modules

    find_our_modules()
    from .guard import guarded

    gc.disable()  # a process that lives for a tenth of a second: looking for cycles costs more than it frees

    def work() -> int:
        if command == "healthcheck":
            from .commands.watchdog import watch_the_time

            watch_the_time(flags["timeout"], bool(flags["prove"]))
        if command == "explain":
            _light_msgspec()
            from .commands.run_explain import run_explain

            return run_explain(what, flags)
        from .commands.gather_options import begin

        started = begin(command, flags)
        try:
            _light_msgspec()
            return _judged(command, {**flags, "started": started})
        finally:
            if started is not None:
                started.abandon()

    return guarded(work, arguments)


def _judged(command: str, flags: dict[str, Any]) -> int:
    if command == "check":
        from .commands.run_check import run_check

        return run_check(flags)
    from .commands.run_healthcheck import run_healthcheck

    return run_healthcheck(flags)


def _light_msgspec() -> None:
    """Import msgspec without typing_extensions, which it takes where it is installed.

    Since Python 3.11 typing has all that msgspec asks of it, and typing_extensions brings inspect, ast and tokenize.
    """
    if sys.version_info < (3, 11) or "typing_extensions" in sys.modules or "msgspec" in sys.modules:
        return
    sys.modules["typing_extensions"] = None
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]
