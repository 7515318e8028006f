"""The one place that writes a report: stdout, or a file that is replaced as a whole."""

from __future__ import annotations

import contextlib
import os
import sys

from .refusal import Refusal


def write(data: bytes, output: str | None) -> None:
    """Write to stdout, or to the file `output`. Raises Refusal where it cannot; BrokenPipeError passes."""
    if output is None or output == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        if os.path.lexists(output) and not os.path.isfile(output):  # noqa: PTH113
            _plain(output, data)  # /dev/stderr, a pipe: not to be replaced
            return
        _replace(os.path.realpath(output), data)
    except OSError as error:
        raise Refusal(f"cannot write {output}: {error.strerror or error}") from None


def _plain(path: str, data: bytes) -> None:
    with open(path, "wb") as stream:
        stream.write(data)


def _replace(path: str, data: bytes) -> None:
    """All or nothing: a full disk must not leave half a report behind."""
    beside = f"{path}.{os.getpid()}.part"
    try:
        _plain(beside, data)
        os.replace(beside, path)  # noqa: PTH105
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
        raise
