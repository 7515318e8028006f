"""Lines of JSON from a child or a stranger's file."""

from __future__ import annotations

from typing import Any

_BOM = b"\xef\xbb\xbf"


def parse_line(data: bytes) -> Any:
    r"""The value of one line. Raises ValueError (also for bytes that are not UTF-8) and RecursionError.

    Half a surrogate pair (`\ud800`), which JSON allows and UTF-8 does not, becomes a replacement character: nothing
    that comes after could write it.
    """
    import json

    text = data.removeprefix(_BOM).decode()  # of bytes, json would take UTF-16 and raw halves of a pair too
    value = json.loads(text)
    return whole(value) if b"\\ud" in data or b"\\uD" in data else value


def whole(value: Any) -> Any:
    """The same value with every text fit to be written as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return value
