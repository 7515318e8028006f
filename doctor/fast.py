"""The fast lane: plain command lines of `check`, `healthcheck` and `explain`, without click."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
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
            from .commands.watchdog import in_time

            with in_time(flags["timeout"], bool(flags["prove"]), arguments):
                return answer()
        return answer()

    def answer() -> int:
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
    """Import msgspec without what it takes along and never uses here: half of its time.

    typing_extensions, where that is installed (since Python 3.11 typing has all that it asks for); platform, which uuid
    asks only for the name of the system and which compiles ten patterns; msgspec's own schemas and inspection, which
    are there as soon as somebody imports them.
    """
    if "msgspec" in sys.modules:
        return
    late = ("platform", "msgspec._json_schema", "msgspec.inspect")
    hidden: dict[str, Any] = {name: ModuleType(name) for name in late}
    hidden["platform"].system = lambda: os.uname().sysname
    for name in ("schema", "schema_components"):
        setattr(hidden["msgspec._json_schema"], name, _schema_maker(name))
    if sys.version_info >= (3, 11):
        hidden["typing_extensions"] = None
    hidden = {name: module for name, module in hidden.items() if name not in sys.modules}
    sys.modules.update(hidden)
    try:
        import msgspec
    finally:
        for name in hidden:
            del sys.modules[name]
    vars(msgspec).pop("inspect", None)  # `import msgspec.inspect` brings the real one


def _schema_maker(name: str) -> Callable[..., Any]:
    def make(*types: Any, **options: Any) -> Any:
        from msgspec import _json_schema

        return getattr(_json_schema, name)(*types, **options)

    return make
