"""Part of the gatherers: paths and errors of the file system as text that JSON can carry."""

from __future__ import annotations

import errno
from typing import Tuple


def why(error: Exception) -> Tuple[str, str]:
    """(reason, detail) of an error: absent, denied or error."""
    number = getattr(error, "errno", None)
    if number in (errno.ENOENT, errno.ENOTDIR):
        return "absent", ""
    if number in (errno.EACCES, errno.EPERM):
        return "denied", ""
    return "error", str(getattr(error, "strerror", None) or error)


def clean(text: str) -> str:
    """Text that can be written as UTF-8: bytes that the file system or environment could not decode are replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text
