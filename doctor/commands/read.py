"""Read a file named by the user, for commands: an unreadable one is refused with one line."""

from __future__ import annotations

from ..formats.given import Unopened, read_given
from ..guard import Refusal

_MATRIX_BYTES = 64 << 20


def read_bounded(path: str, limit: int, too_large: str) -> bytes:
    """The bytes of a regular file or a stream (`-`: standard input). Raises Refusal with one line.

    `too_large`: the message for more than `limit` bytes.
    """
    try:
        return read_given(path, limit, too_large)
    except Unopened as error:
        raise Refusal(str(error)) from None


def read_matrix(path: str) -> bytes:
    """A file of `--matrix`. Raises Refusal with one line."""
    return read_bounded(path, _MATRIX_BYTES, f"is over {_MATRIX_BYTES >> 20} MiB: too large to be a matrix")
