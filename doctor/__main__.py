"""Entry point of `gpudoctor` and `python -m doctor`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line, and leave with its exit code."""
    code = dispatch(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed, or never there
    # Without taking the interpreter down: a gatherer left behind in a dead file system must not hold us up.
    os._exit(code)


def dispatch(arguments: list[str]) -> int:
    """Run a command line and return its exit code."""
    if arguments in (["--version"], ["-V"]):
        from . import __version__

        print(f"gpudoctor {__version__}")  # answered before click is imported
        return 0
    if arguments[:1] in (["check"], ["healthcheck"], ["explain"]):
        from .fast import run_fast

        code = run_fast(arguments)
        if code is not None:
            return code
    from .cli import run

    return run(arguments)


if __name__ == "__main__":
    main()
