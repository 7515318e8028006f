"""Convert bytes from the encodings of terminals and editors to UTF-8, and recognize bytes that are not text."""

from __future__ import annotations

import codecs

_CONTROL = bytes((*range(8), *range(14, 27), *range(28, 32), 127))
"""Signs that no text has; those of terminals (backspace, tab, ESC) are none of them."""
_HEAD = 65536


def utf8_of(data: bytes) -> bytes:
    """The text as UTF-8, b"" if the bytes are not text; a byte in another encoding stays as it is."""
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    head = data[:_HEAD]
    if head.count(0) > len(head) // 3 and head[:2].find(b"\0") == 1:  # PowerShell's redirection without a mark
        return data.decode("utf-16-le", "replace").encode("utf-8", "replace")
    if data[:1] == b"\0" or data[-1:] == b"\0":  # of a log that was cut while it was written
        data = data.strip(b"\0")
    return data if is_text(data[:_HEAD]) else b""


def is_text(head: bytes) -> bool:
    """Whether bytes are a text in any encoding: few of them are characters that no text has."""
    return odd_signs(head) <= min(8, len(head) // 8) + len(head) // 50


def odd_signs(data: bytes) -> int:
    """How many bytes are signs that no text has."""
    return len(data) - len(data.translate(None, _CONTROL))
