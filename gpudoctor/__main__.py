"""`python -m gpudoctor`, and the command `gpudoctor`."""

from __future__ import annotations

import sys

from ._path import drop_outside


def main() -> int:
    """Run the command line, and leave with its exit code: 2 with one line where `doctor` is another's package."""
    drop_outside()
    try:
        from doctor.__main__ import main as run
    except ImportError as error:
        from ._owner import NotOurs, owned

        try:
            owned()
        except NotOurs as other:
            print(other, file=sys.stderr)
        else:
            print(f"gpudoctor: its own files are not whole ({error}): install it again", file=sys.stderr)
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
