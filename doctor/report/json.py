"""The report as JSON: the types, encoded; `schema.py` describes the same types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..judge.report import Report

if TYPE_CHECKING:
    from ..judge.preflight_answer import Preflight


def render_json(report: Report | Preflight) -> bytes:
    """The report as UTF-8 JSON, indented by two, with a newline at its end."""
    try:
        data = msgspec.json.encode(report)
    except UnicodeEncodeError:  # lone surrogates: bytes of a file name or variable that are not UTF-8
        data = msgspec.json.encode(_clean(msgspec.to_builtins(report)))
    return msgspec.json.format(data, indent=2) + b"\n"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
