"""A duration on the command line: 90, 90s, 10m, 2h."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_MOST_S = 7 * 24 * 3600
_FORM = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smh]?)")


class Duration(click.ParamType):  # type: ignore[type-arg]
    """Seconds as a float, from `least_s` to a week."""

    name = "duration"

    def __init__(self, least_s: float = 0.0) -> None:
        self._least_s = least_s

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        found = _FORM.fullmatch(value.strip().lower())
        seconds = float(found[1]) * _UNITS[found[2]] if found else -1.0
        if not self._least_s <= seconds <= _MOST_S:
            words = f"{value!r} must be a duration from {self._least_s:g}s to 168h, such as 90s, 10m or 2h"
            self.fail(words, param, ctx)
        return seconds
