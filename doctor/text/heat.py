"""`nvidia-smi -q -d TEMPERATURE` and the power column: a GPU near a temperature limit, or busy at its power limit."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_TEMPERATURE = lazy(r"\s{0,16}GPU (Current|Slowdown|Max Operating) Temp(?:erature)?\s{0,40}: ?(\d{1,3}) C\b")
_NEAR = {"Slowdown": 5, "Max Operating": 3}
"""Degrees below a limit at which the driver begins to hold the clocks down."""
_DRAW = lazy(r"\b(\d{2,4})W\s{0,2}/\s{0,4}(\d{2,4})W\b")
_LOAD = lazy(r"\b(\d{1,3}) ?%")
_FULL, _BUSY = 0.9, 80


def read_heat(lines: list[Line]) -> Iterator[Statement]:
    """`raised.near-heat-limit`, and `raised.at-power-limit` where a busy GPU draws what it may, as it should."""
    readings: dict[str, tuple[int, Line]] = {}
    for line in lines:
        if " Temp" in line.text and (found := _TEMPERATURE.match(line.text)):
            readings[found[1]] = (int(found[2]), line)
            if found[1] == "Current":
                readings = {"Current": readings["Current"]}  # another GPU
        elif "W" in line.text and (draw := _DRAW.search(line.text)):
            load = max((int(percent) for percent in _LOAD.findall(line.text[draw.end() :][:80])), default=0)
            if int(draw[1]) >= _FULL * int(draw[2]) and load >= _BUSY:
                yield say("raised.at-power-limit", True, line)
                return
        now = readings["Current"][0] if "Current" in readings else 0
        if now and any(name in readings and now >= readings[name][0] - gap for name, gap in _NEAR.items()):
            yield say("raised.near-heat-limit", True, readings["Current"][1])
            return
