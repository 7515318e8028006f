"""Entry point of `gpudoctor` and `python -m doctor`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    if sys.argv[1:2] in (["--version"], ["-V"]):
        from . import __version__

        print(f"gpudoctor {__version__}")  # answered before click is imported
        return 0
    from .cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
