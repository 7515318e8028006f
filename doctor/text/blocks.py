"""Blocks of several lines about one device, as one line for the catalogue's messages: `lshw -c display`."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line

_KEY = lazy(
    r"\s{0,24}(?:description|product|vendor|physical id|bus info|logical name|version|width|clock|capabilities"
    r"|configuration|resources|serial|size|slot): "
)
_MOST_LINES = 4000


def lshw(lines: list[Line]) -> Iterator[Line]:
    """The product, vendor and configuration of each NVIDIA device of `lshw`, at the line of its configuration."""
    if len(lines) > _MOST_LINES or not any("configuration: " in line.text for line in lines):
        return
    block: list[Line] = []
    for line in [*lines, Line(0, "")]:
        if _KEY.match(line.text):
            block.append(line)
            continue
        fields = {key.strip(): (value.strip(), row) for row in block for key, _, value in [row.text.partition(": ")]}
        if {"product", "vendor", "configuration"} <= fields.keys() and "NVIDIA" in fields["vendor"][0]:
            configuration, row = fields["configuration"]
            yield Line(row.number, f"lshw: NVIDIA {fields['product'][0]}, configuration: {configuration}")
        block = []
