"""Entry point of `gpudoctor` and `python -m doctor`."""

from __future__ import annotations

import os
import sys

from .targets.interrupts import abandon_all, leave, listen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> int:
    """Run the command line, and leave with its exit code."""
    try:
        listen()
        _streams()
        code = dispatch(sys.argv[1:])
    except KeyboardInterrupt:  # while a command was still being imported
        from .guard import guarded

        code = guarded(_interrupted, sys.argv[1:])
    leave()
    abandon_all()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed, or never there
    # Without taking the interpreter down: a gatherer left behind in a dead file system must not hold us up.
    os._exit(code)


def _streams() -> None:
    """No descriptor of ours may become a closed stdin, stdout or stderr; and an unbuffered stdout would write a part of
    a long text and say nothing."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        _note_writes(sys.stdout)
    elif type(sys.stdout.buffer).__name__ == "FileIO" or not os.get_blocking(1):
        from .commands.patient_stdout import patient_stdout

        sys.stdout = patient_stdout()


def _note_writes(closed: Any) -> None:
    """A stdout that was closed takes everything; that something was lost in it is told in the end."""
    write = closed.write

    def noted(text: str) -> int:
        closed.wrote = True
        return int(write(text))

    closed.was_closed, closed.write = True, noted


def _interrupted() -> None:
    raise KeyboardInterrupt


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
