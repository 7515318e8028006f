"""Commands of the message catalogue: parts as data, for whatever environment the text is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .install import Install, conda_words, new_venv, pip_line, pip_remove_line, uv_line


def line(parts: Sequence[str | Mapping[str, Any]]) -> str:
    """One line of all parts: texts as they are, {install}, {uv}, {remove}, {conda, channel} and {environment}."""
    return " && ".join(part if isinstance(part, str) else _one(part) for part in parts)


def _one(part: Mapping[str, Any]) -> str:
    if "remove" in part:
        return pip_remove_line(part["remove"])
    if "conda" in part:
        return conda_words("install", ["-c", part["channel"], *part["conda"]])
    if "environment" in part:
        return new_venv(part["environment"])
    row = dict(part.get("install") or part["uv"])
    before = f"{row.pop('set')} " if "set" in row else ""  # a shell works out its value
    request = msgspec.convert(row, Install)
    return before + (pip_line(request) if "install" in part else uv_line(request))
