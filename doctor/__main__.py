"""Entry point of `gpudoctor` and `python -m doctor`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from . import __version__

        print(f"gpudoctor {__version__}")  # answered before click is imported
        return 0
    if arguments[:1] in (["check"], ["healthcheck"]):
        from .fast import run_fast

        code = run_fast(arguments)
        if code is not None:
            return code
    from .cli import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
