"""The matrix of links as a picture: the darker a field, the closer the two devices."""

from __future__ import annotations

from ..topo.costs import Answer
from .svg import INK, MUTED, PAPER, Drawing, shorten

_COLOURS = {"SYS": "#f2f4f7", "NODE": "#dfe9f2", "PHB": "#c4dcef", "PXB": "#9fc8e6", "PIX": "#74afd9", "PSB": "#74afd9"}
_NVLINK, _SELF = "#00694f", "#d0d7de"
_LEAST_WIDTH = 420.0


def render_topo(found: Answer) -> str:
    """The picture; fields shrink as the devices grow in number."""
    count = len(found.devices)
    field = max(13.0, min(46.0, 900.0 / count))
    left, top = 52.0, 56.0
    width = max(_LEAST_WIDTH, left + count * field + 14)
    used = {"NV#" if cell.startswith("NV") else cell for row in found.links for cell in row}
    legend = [(name, words) for name, words in found.legend.items() if name in used]
    foot = top + count * field + 18
    height = foot + 20 * len(legend) + 8
    d = Drawing("topo")
    d.rect(0, 0, width, height, PAPER)
    title = "Links between devices"
    if found.slowest:
        title += f"; slowest between GPUs {found.slowest}"
    d.text(12, 20, shorten(title, 13, width - 24), 13, bold=True)
    small = min(11.0, field * 0.28)
    for i, device in enumerate(found.devices):
        d.text(
            left - 6, top + (i + 0.5) * field + 4, shorten(device.name, 10, 44), min(10.0, field * 0.7), MUTED, "end"
        )
        d.text(left + (i + 0.5) * field, top - 6, device.name.removeprefix("GPU"), min(10.0, field * 0.7), MUTED,
               "middle")  # fmt: skip
        for j, cell in enumerate(found.links[i]):
            fill = _NVLINK if cell.startswith("NV") else _COLOURS.get(cell, _SELF)
            about = f"{device.name} to {found.devices[j].name}: {cell}"
            d.rect(left + j * field, top + i * field, field - 1, field - 1, fill, about=about)
            if field >= 26:
                ink = PAPER if cell.startswith("NV") else INK
                d.text(left + (j + 0.5) * field, top + (i + 0.5) * field + 4, cell, small, ink, "middle")
    for at, (name, words) in enumerate(legend):
        y = foot + 20 * at
        d.rect(12, y, 12, 12, _NVLINK if name == "NV#" else _COLOURS.get(name, _SELF))
        d.text(30, y + 10, shorten(f"{name}: {words}", 11, width - 40), 11)
    return d.svg(width, height, "Links between devices")
