"""The one place where errors become one line on stderr and an exit code; never a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence

_NO_ROOM = {
    errno.ENOSPC: "no space left",
    errno.EDQUOT: "disk quota exceeded",
    errno.EFBIG: "file size limit exceeded (see ulimit -f)",
    errno.EIO: "input/output error",
    errno.EBADF: "standard output is not open for writing",
}
_DONE_ANYWAY = (["healthcheck"], ["record"], ["fix"], ["watch"])
"""Commands that have done their work even if their output is lost."""
_POOR = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


class Refusal(Exception):
    """A command's refusal: wrong usage or unreadable input; the message is one line for stderr."""

    code = 0
    """The exit code in any other case."""


def traced() -> bool:
    """Whether a bug in gpudoctor itself ends the command with a traceback (as in its tests)."""
    return bool(os.environ.get("GPUDOCTOR_TRACEBACK"))


def guarded(work: Callable[[], object], arguments: Sequence[str]) -> int:
    """Run a command and return its exit code (DESIGN rule 9).

    2 (`healthcheck`: 1) for wrong usage, unreadable input and internal errors, 130 for an interrupt.
    """
    failed = 1 if list(arguments[:1]) == ["healthcheck"] and not _detector(arguments) else 2
    try:
        code = work()
        sys.stdout.flush()
        if getattr(sys.stdout, "wrote", False) and list(arguments[:1]) not in _DONE_ANYWAY:
            return say("cannot write the report: standard output is closed", failed)
    except Refusal as refusal:
        return say(str(refusal), refusal.code or failed)
    except KeyboardInterrupt:
        if list(arguments[:1]) == ["healthcheck"]:
            return unknown("interrupted before the check finished", arguments)
        _write("\n")
        return 130
    except BrokenPipeError:
        _quiet_stdout()
        return failed
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            _quiet_stdout()
            return say(f"cannot write the report: {_NO_ROOM[error.errno]}", failed)
        no_thread = isinstance(error, RuntimeError) and "start new thread" in str(error)
        if no_thread or isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _POOR):
            what = "memory" if isinstance(error, MemoryError) else getattr(error, "strerror", error)
            if list(arguments[:1]) == ["healthcheck"]:  # nothing was examined
                return unknown(f"not enough resources to run: {what} (see ulimit -a)", arguments)
            return say(f"this shell's limits are too low: {what} (see ulimit -a)", failed)
        if traced():
            raise
        return say(f"internal error: {type(error).__name__}: {error} (GPUDOCTOR_TRACEBACK=1 shows where)", failed)
    return code if isinstance(code, int) else 0


def _detector(arguments: Sequence[str]) -> bool:
    """Whether a node-problem-detector asks: then, what could not be checked is neither 0 nor 1."""
    return any(word.rpartition("=")[2] == "node-problem-detector" for word in arguments)


def unknown(why: str, arguments: Sequence[str]) -> int:
    """The line of a healthcheck without an answer: unknown exits 0, with --strict 1."""
    return last_answer(arguments)(why)


def last_answer(arguments: Sequence[str]) -> Callable[[str], int]:
    """`unknown`, for a signal handler, which may run in the middle of an import, when modules are only partly loaded:
    everything it needs is imported here."""
    written = _line
    if any(word.rpartition("=")[2] == "prometheus" for word in arguments):
        from .report.prometheus_text import cut_off as written
    write: Callable[[bytes], None] = _to_stdout
    if output := _output(arguments):
        from .commands.file_out import to_file

        def write(data: bytes) -> None:
            to_file(output, [data], False)

    code = 1 if "--strict" in arguments else 2 if _detector(arguments) else 0

    def answer(why: str) -> int:
        with contextlib.suppress(OSError, ValueError, AttributeError, RuntimeError):
            write(written(why).encode("utf-8", "backslashreplace"))
        return code

    return answer


def _line(why: str) -> str:
    return f"UNKNOWN {why}\n"


def _to_stdout(data: bytes) -> None:
    sys.stdout.write(data.decode())
    sys.stdout.flush()


def _output(arguments: Sequence[str]) -> str:
    """The file of -o, or ''."""
    found = ""
    for word, after in zip(arguments, [*arguments[1:], ""], strict=False):
        if word in ("-o", "--output"):
            found = after
        elif word.startswith(("-o", "--output=")):
            found = word.removeprefix("--output=").removeprefix("-o")
    return "" if found == "-" else found


def say(message: str, code: int) -> int:
    """One printable line on stderr; returns the code."""
    line = " ".join(message.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    if len(line) > 600:  # a very long argument: the message is around it
        line = f"{line[:280]} ... {line[-280:]}"
    _write(f"gpudoctor: {line}\n")
    return code


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody may be listening
        sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stderr.flush()


def _quiet_stdout() -> None:
    """The reader is gone, or nothing can be written: write nothing more, not even at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
