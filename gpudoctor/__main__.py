"""`python -m gpudoctor`, and the command `gpudoctor`."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enums of `signal`
import sys


def _held(number: int, frame: object) -> None:
    """Ctrl-C during the first imports: remembered for doctor/targets/interrupts.py, which reports it in one line."""
    _held.came = True  # type: ignore[attr-defined]


_held.came = False  # type: ignore[attr-defined]


def main() -> int:
    """Run the command line and exit with its code: 2 with one line if `doctor` belongs to another package."""
    from ._path import drop_outside

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
            print(f"gpudoctor: the installation is damaged ({error}); reinstall gpudoctor", file=sys.stderr)
        return 2
    return run()


if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _held)
if __name__ == "__main__":
    sys.exit(main())
